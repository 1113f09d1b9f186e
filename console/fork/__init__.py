"""Forks and comparisons: branches of a run, and what sets them apart."""
