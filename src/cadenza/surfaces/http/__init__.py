"""REST: the table of operations over HTTP."""
