"""Screens: the dashboard and what opens over it."""
