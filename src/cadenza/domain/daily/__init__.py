"""Users with a daily window, and the rules of each day's verdict."""
