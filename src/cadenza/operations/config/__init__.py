"""Configuration as code: a file is read, validated, compared and applied, or written from what exists."""
