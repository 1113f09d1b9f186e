"""A source's text becomes tokens on disk: read once, by units, over processes, with a journal."""
