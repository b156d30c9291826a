"""Contracts about users, agents, conversations, deliveries and schedules."""
