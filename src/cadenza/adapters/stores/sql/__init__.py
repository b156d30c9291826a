"""Stores on SQLite and PostgreSQL: one schema, one way to write an endpoint down."""
