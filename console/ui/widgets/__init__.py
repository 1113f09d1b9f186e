"""Widgets: each draws one part of the run's state. None reads files or decides."""
