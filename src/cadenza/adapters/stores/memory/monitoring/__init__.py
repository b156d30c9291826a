"""Statistics, SLO states and alerts in memory."""
