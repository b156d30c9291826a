"""Endpoints, jobs and runs in memory."""
