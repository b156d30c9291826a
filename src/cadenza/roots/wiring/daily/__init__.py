"""The daily runner from settings: its targets, by programme, and its parts."""
