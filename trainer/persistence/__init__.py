"""What the loop leaves on disk: checkpoints, history, state."""
