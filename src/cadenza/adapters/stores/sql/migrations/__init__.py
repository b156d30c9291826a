"""How the schema came to be what it is, one step at a time."""

HEAD = "0014"
"""The newest step. Steps are numbered, so that an older schema can be told from a newer one."""
