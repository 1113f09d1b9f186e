"""Audit forks: two branches from a checkpoint, and two runs side by side."""
