"""The dispatcher of HTTP targets, with its SSRF guard, secrets, signatures and limits."""
