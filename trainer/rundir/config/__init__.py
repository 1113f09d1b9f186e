"""A run's settings: `run.toml`, presets, policies, and how a run is made."""
