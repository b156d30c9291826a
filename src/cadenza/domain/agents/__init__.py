"""Users, agents, their conversations, agent schedules, and deliveries of messages to users."""
