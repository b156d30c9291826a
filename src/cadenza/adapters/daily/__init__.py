"""Runners of daily targets, and the lock with which one process serves all daily users."""
