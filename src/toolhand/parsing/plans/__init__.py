"""The text of a plan becomes values: logical lines, then the grammar's trees, then statements in blocks.

The language itself, its grammar and what is done with a plan live in `toolhand.plan`.
"""
