"""What planners read and record: settings, health, changes between runs, and analyses."""
