"""`python -m toolhand.cli` is the `toolhand` command."""

from toolhand.cli import main

main()
