"""Who said what: sessions as append-only lists of neutral messages."""
