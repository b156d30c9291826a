"""What moves an installation, or one tenant, from one database to another."""
