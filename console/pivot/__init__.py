"""The pivot: planned, driven through its stages, told."""
