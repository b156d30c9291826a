"""Forty minutes of a flash sale, watched by ten endpoints in four tiers."""
