"""The learning planner's mathematics: when the next run of an endpoint is worth its price."""
