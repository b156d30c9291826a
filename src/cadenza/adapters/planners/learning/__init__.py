"""The learning planner: observations in, estimates and hints out."""
