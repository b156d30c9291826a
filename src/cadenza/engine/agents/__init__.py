"""Conversation turns, agent schedules that fire, and the delivery of messages to users."""
