"""Ways in; each takes what it starts from its root."""
