"""How connections to PostgreSQL are made."""
