"""Service levels watched from telemetry, and alerts delivered to people."""
