"""HTTP targets: requests that leave by one guarded door, and what comes back, bounded."""
