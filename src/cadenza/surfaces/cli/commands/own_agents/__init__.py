"""Commands of agents that are services or processes of their own."""
