"""Holidays and iCalendar files, by libraries that are loaded when a calendar needs them."""
