"""A scenario of one host: its CPU is measured, and an alert is sent once when it is too busy."""
