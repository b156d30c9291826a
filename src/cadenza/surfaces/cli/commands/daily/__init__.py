"""`cadenza daily …`: daily users, their days, and programmes."""
