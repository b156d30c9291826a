"""The dashboard: its files, login sessions, and the stream of changes."""
