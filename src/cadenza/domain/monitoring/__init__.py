"""Service levels, rolling aggregates, alerts, and statistics about runs and days."""
