"""The proxy: what feeds the engine and what judges it."""
