"""The verbs of the command line, a module each, named as they are typed."""
