"""Contracts about users with a daily window and their verdicts."""
