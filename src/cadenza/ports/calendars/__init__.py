"""Ports of calendars: where holidays and events of files come from, and where calendars are stored."""
