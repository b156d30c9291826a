"""Operations on keys, secrets, sessions, tenants' limits and usage."""
