"""The learning planner's mathematics: when the next run of an endpoint is worth its price.

Durations are counted in periods here: one period is the endpoint's own baseline interval. So
nothing below knows seconds, and endpoints with different intervals learn from each other.
"""
