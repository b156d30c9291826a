"""Commands about users, agents, their schedules and their turns."""
