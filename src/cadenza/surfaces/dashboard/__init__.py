"""The dashboard: its files, its sessions, and what changes while somebody looks."""
