"""The pages, one a file: each a function from what was read to markup. They read nothing and decide nothing."""
