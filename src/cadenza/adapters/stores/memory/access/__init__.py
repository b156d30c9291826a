"""Keys, sessions, secrets, tenants, idempotent replies and the audit in memory."""
