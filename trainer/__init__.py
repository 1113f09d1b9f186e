"""The trainer: a torch process that survives weeks. This root imports nothing."""

__version__ = "0.1.0"
"""Of trainer and console, which are one package."""
