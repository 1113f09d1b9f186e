"""Whether a run is healthy, and since when not: pure arithmetic over its record."""
