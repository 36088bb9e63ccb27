"""A fake DeepSpeed with the parts that the probe hooks."""
