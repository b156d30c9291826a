"""How the command line prints: tables, cards, colours and standard output."""
