"""What runs on the other side of the wall: the standard library and the files that its jail is made of, nothing else."""
