"""Tolerant readers of values: JSON as models write it, Python literals, call syntax, elements, simple YAML. No I/O."""
