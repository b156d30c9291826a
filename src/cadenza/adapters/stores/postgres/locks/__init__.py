"""Locks that let one of several processes do some work: in sessions, or in rows that are leased."""
