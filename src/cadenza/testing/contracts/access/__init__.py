"""Contracts about tenants, keys, sessions, secrets and idempotency."""
