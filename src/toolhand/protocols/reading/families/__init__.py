"""One small file for each way of writing calls down; each has a `FAMILY`. A new model is one more file and its cases."""
