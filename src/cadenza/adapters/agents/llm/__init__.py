"""Agents that answer with a model."""
