"""The terminal console: watches and steers one run. It never loads torch."""
