"""Endpoints, baselines and hints, the governor that plans the next run, and the rules of runs and slots."""
