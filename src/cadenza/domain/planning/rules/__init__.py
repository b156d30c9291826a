"""Rules: their conditions, the facts they see, their steps, and incidents that last and escalate."""
