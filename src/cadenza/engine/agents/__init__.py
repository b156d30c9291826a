"""Turns of conversations, agent schedules and their firing, and delivery of messages to users."""
