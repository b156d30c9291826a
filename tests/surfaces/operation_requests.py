"""A request for every operation that has a route, made from the table itself."""

from typing import Any

from tests.surfaces.api_in_process import A_TARGET, EVERY_MINUTE

from cadenza.operations.operation import AnyOperation, Route
from cadenza.operations.table import OPERATIONS

IDS = {
    "tenant_id": "north",
    "job_id": "job",
    "endpoint_id": "traffic",
    "run_id": "run",
    "key_id": "key",
    "rule_id": "rule",
    "secret_name": "SECRET",
    "user_id": "ada",
    "agent_id": "helper",
    "schedule_id": "sched-none",
    "date": "2025-01-01",
    "record_id": "none",
    "condition_id": "endpoint-none",
    "route_id": "team",
    "channel_id": "phone",
    "kind": "job",
    "name": "job",
    "calendar_id": "work",
    "turn_id": "none",
    "tool": "list_schedules",
    "programme_id": "evening",
}
A_RULE: dict[str, Any] = {
    "id": "rule",
    "job_id": "job",
    "name": "a surge",
    "when": "run.status == 'failure'",
    "then": {"tool": "propose_interval", "intervalMs": 30_000},
}
A_ROUTE: dict[str, Any] = {
    "id": "team",
    "name": "Team",
    "channel": {"type": "webhook", "url": "https://alerts.example/${secret:PATH}"},
    "match": {"labels": {"team": "web"}},
}
CHANNELS: dict[str, Any] = {
    "channels": [{"id": "phone", "type": "webhook", "url": "https://phone.example/${secret:PATH}"}],
    "quiet_hours": {"start": "22:00", "end": "07:00"},
}
A_CALENDAR: dict[str, Any] = {"weekly": [{"days": ["mon", "tue"], "opens": "08:00", "closes": "18:00"}]}
A_SCHEDULE: dict[str, Any] = {
    "name": "Pizza",
    "prompt": "take it out",
    "schedule_type": "one-shot",
    "delay_seconds": 60,
    "user_id": "ada",
    "agent_id": "helper",
}
TURN_TOKEN = "turn_x_y"
HELD: dict[str, Any] = {"turn_token": TURN_TOKEN}
BODIES: dict[str, dict[str, Any]] = {
    "create_job": {"name": "new"},
    "create_endpoint": {"name": "new", "target": A_TARGET, "baseline": EVERY_MINUTE},
    "propose_interval": {"intervalMs": 30_000},
    "propose_next_time": {"nextRunInMs": 30_000},
    "pause_until": {"untilIso": "2025-01-01T01:00:00Z"},
    "preview_steering": {"tool": "propose_interval", "arguments": {"intervalMs": 30_000}},
    "pause_endpoints": {"untilIso": "2025-01-01T01:00:00Z", "label": ["team=web"]},
    "resume_endpoints": {"label": ["team=web"]},
    "redrive_runs": {"since": "2024-12-31T00:00:00Z", "job_id": "job"},
    "backfill": {"since": "2024-12-31T12:00:00Z"},
    "create_rule": A_RULE | {"id": "new"},
    "update_rule": {"name": "other"},
    "test_rule": {"endpoint_id": "traffic"},
    "create_key": {"name": "new"},
    "put_secret": {"value": "very secret"},
    "create_schedule": A_SCHEDULE,
    "update_schedule": {"name": "Pasta"},
    "snooze_schedule": {"for_seconds": 60},
    "put_agent": {"name": "Helper"},
    "put_user_channels": CHANNELS,
    "send_message": {"user_id": "ada", "text": "list my reminders"},
    "take_agent_turn": {"agent_id": "puller", "wait_seconds": 0},
    "renew_agent_turn": HELD,
    "give_back_agent_turn": HELD,
    "answer_agent_turn": HELD | {"messages": ["Hello."]},
    "call_agent_turn_tool": HELD | {"call_id": "done"},
    "put_daily_user": {"due_time": "07:30"},
    "put_programme": {"target": "https://example.com/evening"},
    "put_daily_users": {"users": [{"user_id": "ada", "due_time": "07:30"}]},
    "create_alert_route": A_ROUTE | {"id": "new"},
    "update_alert_route": {"enabled": False},
    "silence_condition": {"minutes": 60},
    "preview_baseline": {"baseline": EVERY_MINUTE},
    "test_target": {"target": A_TARGET},
    "apply_config": {"version": 1, "jobs": []},
    "apply_config_file": {"text": "version: 1"},
    "set_limit": {"max_in_flight": 5},
    "put_calendar": A_CALENDAR,
    "preview_calendar_draft": A_CALENDAR,
}
SERVED: list[tuple[AnyOperation, Route]] = [
    (one, one.route) for one in OPERATIONS if one.route is not None and not one.operator
]
"""What every tenant may ask."""
IDS_OF = {
    "/v1/endpoints/{endpoint_id}/heartbeat-token": {"endpoint_id": "backup"},
    "/v1/runs/{run_id}/cancel": {"run_id": "waiting-1735603200000000-traffic"},
}
"""Where another thing is meant than elsewhere."""
NAMES = [operation.name for operation, _ in SERVED]


def request_of(route: Route, **ids: str) -> str:
    """`GET /v1/jobs/job`."""
    return f"{route.method} {route.path.format(**(IDS | ids | IDS_OF.get(route.path, {})))}"


def body_of(operation: AnyOperation, route: Route) -> dict[str, Any] | None:
    """A body that makes sense; what an operation must have, somebody must write above."""
    if not route.has_body:
        return None
    needed = [name for name in operation.schema.get("required", []) if f"{{{name}}}" not in route.path]
    body = BODIES.get(operation.name, {})
    assert set(needed) <= body.keys(), f"write an example of {operation.name} into BODIES"
    return body
