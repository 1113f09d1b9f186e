"""The loss chart without a terminal: numbers and a size in, rows of characters out."""
