"""Channels by which a user gets what no socket took, and the hours in which nothing is sent."""
