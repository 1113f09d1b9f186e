"""The sidecars `.loss.json` and `.samples.json`: arrays of records, a line each."""
