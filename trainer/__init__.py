"""The trainer: a torch process that survives weeks. This root imports nothing."""
