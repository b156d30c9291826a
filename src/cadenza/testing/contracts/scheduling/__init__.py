"""Contracts about endpoints, claims, leases, runs and slots."""
