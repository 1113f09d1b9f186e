"""A change on disk, a look at the run, a new view."""
