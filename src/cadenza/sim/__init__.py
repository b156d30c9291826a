"""A world to schedule against, the scenarios played in it, and the report of what happened."""
