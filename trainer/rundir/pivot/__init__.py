"""A pivot on disk: its journal, and its stages on files."""
