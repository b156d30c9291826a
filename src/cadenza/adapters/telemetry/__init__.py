"""Telemetry events as metrics, traces, log lines and alert webhooks."""
