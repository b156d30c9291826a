"""PostgreSQL and engines that resemble it: what each has, and what is done without it."""
