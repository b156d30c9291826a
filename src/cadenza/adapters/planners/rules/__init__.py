"""The rule planner, and the language of rule conditions."""
