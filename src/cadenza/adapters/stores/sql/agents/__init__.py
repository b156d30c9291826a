"""Users, agents and conversations in the tables of either database."""
