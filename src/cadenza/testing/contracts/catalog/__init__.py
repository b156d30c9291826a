"""Contracts of the catalog: jobs and endpoints as their owners see and change them."""
