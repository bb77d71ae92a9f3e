"""From what was sent to what is declared: one file a type, and in `table` the table that chooses among them."""
