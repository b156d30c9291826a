"""Statistics, SLO states and alerts in the tables of either database."""
