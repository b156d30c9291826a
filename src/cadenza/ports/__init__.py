"""What the engine needs from the world; each method states its guarantee."""
