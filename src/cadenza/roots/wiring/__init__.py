"""Parts that several roots share: from settings to stores, applications and services."""
