"""Dispatchers, which run an endpoint's target: HTTP requests and Python functions."""
