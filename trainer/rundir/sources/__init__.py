"""The text of a source: its documents and its size."""
