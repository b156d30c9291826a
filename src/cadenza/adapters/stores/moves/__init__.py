"""The two ends of a move: what is read of a source and written to a target, derived from their schemas."""
