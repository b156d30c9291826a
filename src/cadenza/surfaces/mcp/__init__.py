"""MCP: the table of operations as tools for agents, and what they read first."""
