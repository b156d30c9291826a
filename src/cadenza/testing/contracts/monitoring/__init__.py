"""Contracts about statistics, service levels and alerts."""
