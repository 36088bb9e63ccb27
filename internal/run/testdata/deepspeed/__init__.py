"""Stands in for DeepSpeed: the parts that the probe follows."""
