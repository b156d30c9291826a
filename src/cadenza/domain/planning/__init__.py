"""What planners see and record: settings, health, what changed between runs, and analyses."""
