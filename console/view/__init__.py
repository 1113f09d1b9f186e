"""What is known of a run, as one frozen value."""
