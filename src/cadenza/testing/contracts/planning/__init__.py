"""Contracts about rules, analyses and the feed of ended runs."""
