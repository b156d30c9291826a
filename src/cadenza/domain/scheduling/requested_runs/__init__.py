"""Runs that are asked for beside the schedule, and requests to cancel a run."""
