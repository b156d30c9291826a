"""The migrations of the schema, one numbered step each."""

HEAD = "0039"
"""The newest step; a schema with a higher number is newer than this code."""
