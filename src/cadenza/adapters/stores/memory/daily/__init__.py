"""Users with a daily window and their verdicts in memory."""
