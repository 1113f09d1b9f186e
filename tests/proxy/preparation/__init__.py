"""Text becomes tokens on disk."""
