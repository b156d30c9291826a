"""The loops' bodies: they know ports and rules, and no library."""
