"""The socket over which users talk to agents, and get what is owed to them."""
