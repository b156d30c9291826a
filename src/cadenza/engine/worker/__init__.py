"""The worker: it claims what is due, starts, executes and settles it, and renews and sweeps leases."""
