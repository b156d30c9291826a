"""Keys, sessions, secrets, tenants and idempotent replies in the tables of either database."""
