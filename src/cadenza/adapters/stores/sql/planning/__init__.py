"""Rules and analyses in the tables of either database."""
