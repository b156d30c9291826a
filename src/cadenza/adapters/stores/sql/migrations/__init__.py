"""The migrations of the schema, one numbered step each."""

HEAD = "0038"
"""The newest step; a schema with a higher number is newer than this code."""
