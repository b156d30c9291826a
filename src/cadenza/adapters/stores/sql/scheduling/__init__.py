"""Endpoints, jobs and runs in the tables of either database."""
