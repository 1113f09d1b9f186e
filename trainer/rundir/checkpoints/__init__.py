"""The checkpoint files: their format, which stay, which go."""
