"""Interfaces for callers: HTTP, command line, MCP, WebSocket, dashboard."""
