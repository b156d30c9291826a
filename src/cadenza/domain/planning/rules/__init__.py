"""Rules: their variables, their steps, and incidents that last and escalate."""
