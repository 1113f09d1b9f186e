"""The run directory: the contract on disk. Imports neither torch nor a terminal library."""
