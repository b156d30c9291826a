"""The analyst: follows ended runs, queues endpoints, briefs planners and records their analyses."""
