"""Calendars: when they are open, what keeps an endpoint to them, and how they are written and compiled."""
