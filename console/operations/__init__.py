"""What can be done to a run, and what became of it."""
