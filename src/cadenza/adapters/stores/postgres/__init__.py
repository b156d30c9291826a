"""The store on PostgreSQL, for many workers."""
