"""Stores for endpoints, runs and everything else: memory, SQLite and PostgreSQL."""
