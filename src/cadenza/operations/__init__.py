"""What the outside may ask: one command, one handler, one view each."""
