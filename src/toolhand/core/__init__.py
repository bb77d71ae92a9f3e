"""The words that all stages share: frozen values, the standard library only, no I/O."""
