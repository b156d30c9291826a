"""The requests of each page of the dashboard."""

from datetime import timedelta
from typing import Any

from benchmarks import dashboard_data as data
from benchmarks.listing import BEGIN, NOW

from cadenza.operations.fields import write_cursor

MIDDLE = BEGIN + (NOW - BEGIN) / 2
AN_HOUR, A_DAY = timedelta(hours=1), timedelta(days=1)
HOURS = (1, 6, 24, 168, 720)
ONE = {"endpoint_id": "endpoint-7"}
BUSY = {"endpoint_id": data.BUSY}
TIGHTER = {"tool": "propose_interval", "arguments": {"intervalMs": 30_000}, "runs": 30}
WORDS = {"agent_id": "helper", "user_id": "user-0001", "text": "list my reminders"}

Request = tuple[str, dict[str, Any]]
REQUESTS: dict[str, Request] = {
    "overview": ("get_overview", {}),
    "overview, five hours": ("get_overview", {"minutes": 300, "ahead_minutes": 60}),
    "overview, service levels": ("get_slo", {}),
    "sidebar, failing endpoints": ("count_rows", {}),
    "sidebar, firing alerts": ("count_conditions", {}),
    "alerts, firing": ("list_conditions", {"limit": 50, "state": "firing"}),
    "alerts, resolved": ("list_conditions", {"limit": 50, "state": "resolved"}),
    "runs, in flight": ("list_open_runs", {"limit": 50}),
    "runs, in flight of a job": ("list_open_runs", {"limit": 50, "job_id": "job-3"}),
    "overview, alerts": ("list_alerts", {"limit": 8}),
    "endpoints, first page": ("list_rows", {}),
    "endpoints, later page": ("list_rows", {"cursor": write_cursor("list_rows", "endpoint-5")}),
    "endpoints, by their ids": ("list_rows", {"endpoint_id": [f"endpoint-{n}" for n in range(100)]}),
    "an endpoint": ("get_endpoint", ONE),
    "an endpoint, why then": ("explain_endpoint", ONE),
    "an endpoint, preview": ("preview_steering", ONE | TIGHTER),
    "an endpoint, a run": ("get_run", {"run_id": f"{7:032x}"}),
    "endpoints, failing first": ("list_rows", {"failing": True}),
    "endpoints, failing of a job": ("list_rows", {"failing": True, "job_id": "default"}),
    "a job, its endpoints": ("list_rows", {"job_id": "default"}),
    **{f"statistics, {hours} h": ("get_endpoint_statistics", ONE | {"hours": hours}) for hours in HOURS},
    **{
        f"statistics, busy, {hours} h": ("get_endpoint_statistics", BUSY | {"hours": hours})
        for hours in HOURS
    },
    "runs, newest": ("list_runs", {"limit": 50}),
    "runs, failed": ("list_runs", {"limit": 50, "status": ["failure", "timeout", "abandoned"]}),
    "runs, of a job": ("list_runs", {"limit": 50, "job_id": "job-3"}),
    "runs, of an endpoint": ("list_runs", {"limit": 50} | BUSY),
    "runs, three days ago": ("list_runs", {"limit": 50, "since": MIDDLE, "until": MIDDLE + AN_HOUR}),
    "runs, by source": ("list_runs", {"limit": 50, "source": ["manual"]}),
    "audit": ("list_audit", {"limit": 50}),
    "audit, of an endpoint": ("list_audit", {"subject_kind": "endpoint", "subject_id": "endpoint-7"}),
    "timeline, last hour": ("get_timeline", ONE),
    "timeline, a day": ("get_timeline", ONE | {"since": NOW - A_DAY, "until": NOW}),
    "timeline, three days ago": ("get_timeline", ONE | {"since": MIDDLE, "until": MIDDLE + 6 * AN_HOUR}),
    "timeline, busy, last hour": ("get_timeline", BUSY),
    "timeline, busy, first hour": ("get_timeline", BUSY | {"since": BEGIN, "until": BEGIN + AN_HOUR}),
    "timeline, busy, before it all": ("get_timeline", BUSY | {"since": BEGIN - A_DAY, "until": BEGIN}),
    "agents, agents": ("list_agents", {}),
    "agents, users": ("list_users", {}),
    "agents, schedules of a user": ("list_schedules", {"user_id": "user-0000"}),
    "agents, schedules of all": ("list_schedules", {}),
    "agents, a token": ("create_user_token", {"user_id": "user-0001", "ttl_seconds": 60}),
    "agents, a turn of a long talk": ("send_message", WORDS),
    "daily, windows of today": ("get_windows", {}),
    "daily, windows of a day before": ("get_windows", {"date": data.TODAY - timedelta(days=3)}),
    "daily, history": ("get_history", {"days": 30}),
    "daily, misses": ("list_misses", {}),
    "daily, users": ("list_daily_users", {}),
    "daily, a user": ("get_daily_user", {"user_id": "user-0000007"}),
    "daily, days of a user": ("list_user_days", {"user_id": "user-0000007", "limit": 30}),
    "planners, sittings": ("list_sittings", {"limit": 30}),
    "planners, older sittings": (
        "list_sittings",
        {"limit": 30, "cursor": write_cursor("list_sittings", f"{MIDDLE.isoformat()} ")},
    ),
    "planners, spending": ("get_spending", {}),
    "planners, learning": ("list_learning", {"limit": 200}),
    "planners, rules": ("list_rules", {"limit": 200}),
    "planners, a rule tried": ("test_rule", {"rule_id": "rule-0", "endpoint_id": "endpoint-7"}),
    "simulator": ("get_simulation", {}),
    "simulator, the other one": ("get_simulation", {"scenario": "system-resources"}),
}


def about_schedule(schedule_id: str) -> dict[str, Request]:
    """The requests of the page of an agent schedule, which is an endpoint, too."""
    planned = {"endpoint_id": schedule_id}
    return {
        "a schedule": ("get_endpoint", planned),
        "a schedule, why then": ("explain_endpoint", planned),
        "a schedule, timeline": ("get_timeline", planned),
    }
