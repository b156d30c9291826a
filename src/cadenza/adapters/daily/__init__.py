"""What the daily runner executes for each user, and the lock of its single process."""
