"""The embedded store: one file."""
