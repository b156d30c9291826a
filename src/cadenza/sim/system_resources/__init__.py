"""One host: its processor is watched, and people are told once when it is too busy."""
