"""Tenants, their limits and usage, and the keys and scopes of callers."""
