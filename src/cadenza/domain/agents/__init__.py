"""Users, agents, their conversations, agent schedules, and messages owed to users."""
