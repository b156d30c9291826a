"""The planners, which write hints: rules, learning, an LLM, and HTTP headers."""
