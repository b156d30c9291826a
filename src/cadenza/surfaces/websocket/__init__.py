"""The WebSocket over which users send messages to agents and receive their deliveries."""
