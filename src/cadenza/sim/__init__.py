"""Simulations: scenarios and recorded histories on the worker and a clock that jumps, and their reports."""
