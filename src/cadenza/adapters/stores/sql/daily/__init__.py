"""Users with a daily window and their verdicts in the tables of either database."""
