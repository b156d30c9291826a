"""Agents: one that works without a model, and one that asks a model."""
