"""What runs on the other side of the wall. It imports the standard library, its own folder and `jails`, and nothing else of Toolhand."""
