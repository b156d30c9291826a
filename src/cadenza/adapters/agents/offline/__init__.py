"""The agent that needs no model: it understands plain requests about reminders."""
