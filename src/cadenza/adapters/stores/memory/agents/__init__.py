"""Users, agents and conversations in memory."""
