"""The learning planner's mathematics: where a look is worth most.

Spans are counted in beats here: one beat is the endpoint's own baseline interval. So
nothing below knows seconds, and endpoints of unlike pace learn from each other.
"""
