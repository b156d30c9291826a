"""What writes hints: by rules, by what was learned, by what HTTP says, by a model."""
