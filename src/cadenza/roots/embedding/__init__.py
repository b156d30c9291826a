"""Cadenza inside a program: its functions, what it declares, and the app that runs them."""
