"""Clients of the operations, for commands: on a server, or on the database itself."""
