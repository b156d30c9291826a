"""Rules and analyses in memory."""
