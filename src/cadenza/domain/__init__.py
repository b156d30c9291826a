"""Values and rules: standard library only, no await, no clock, no log."""
