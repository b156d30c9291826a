"""Quotas, rate limits, and secrets: where they come from and how they are encrypted."""
