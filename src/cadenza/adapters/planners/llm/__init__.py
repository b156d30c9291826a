"""The LLM planner: a briefing for a model, and the tools it may call."""
