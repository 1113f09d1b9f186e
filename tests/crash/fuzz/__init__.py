"""Input of any kind: run directories mutated at random, put to verbs, console and trainer."""
