"""Agent runtimes: one that works without a model, one with a model, and the choice between them."""
