"""Users with a daily window: where each one stands, and the rules of the day's verdict."""
