"""How each operation's answer is printed: as a table, a card, a report, or one sentence."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from cadenza.surfaces.cli.output import (
    calendar_tables,
    cards,
    columns,
    daily_tables,
    overview_tables,
    reports,
    turn_cards,
)
from cadenza.surfaces.cli.output.formatting import Column, Part, listing, many, text

View = Callable[[Any], Iterable[Part]]
NO_ANALYSES = "No planner evaluations yet."
NO_COSTS = "No planner costs yet."


def view_of(operation: str, words: Mapping[str, Any], answer: Any) -> Iterable[Part]:
    """Render an operation's answer; for an empty answer, a sentence with the arguments in it."""
    view = VIEWS[operation]
    return [text(view.format(**words))] if isinstance(view, str) else view(answer)


def _part(name: str, view: View) -> View:
    """The view of a list that is one field of the answer."""
    return lambda answer: view({"items": answer[name], "next_cursor": None})


CANCELLED = {"cancelled": "Cancelled", "cancelling": "Its worker was told to cancel it"}


def _queued(view: View) -> View:
    """The slots that were queued, and how many they are of those that are meant."""

    def parts(answer: Any) -> Iterable[Part]:
        yield from view({"items": answer["items"], "next_cursor": None})
        if answer["matched"]:
            left = "" if answer["complete"] else " Repeat the command later for the others."
            yield text(f"{answer['queued']} of {many(answer['matched'], 'slot')}.{left}")

    return parts


def _one(shown: Sequence[Column]) -> View:
    """The view of one thing, as a list has it."""
    view = listing(shown, "")
    return lambda answer: view({"items": [answer], "next_cursor": None})


def _steered(verb: str) -> View:
    return lambda answer: [text(f"{verb} {many(answer['endpoints'], 'endpoint')}.")]


VIEWS: dict[str, View | str] = {
    "list_jobs": listing(columns.JOBS, "No jobs yet. Create one with cadenza jobs create."),
    "get_job": cards.job_card,
    "create_job": cards.job_card,
    "update_job": cards.job_card,
    "pause_job": cards.job_card,
    "resume_job": cards.job_card,
    "delete_job": "Deleted the job {job} with its endpoints.",
    "list_endpoints": listing(columns.ENDPOINTS, "No matching endpoints."),
    "get_endpoint": cards.endpoint_card,
    "create_endpoint": cards.endpoint_card,
    "update_endpoint": cards.endpoint_card,
    "reset_failures": cards.endpoint_card,
    "create_heartbeat_token": cards.new_heartbeat_token,
    "delete_endpoint": "Deleted the endpoint {endpoint}.",
    "list_rows": listing(overview_tables.BOARD, "No endpoints yet."),
    "count_rows": reports.row_counts,
    "get_timeline": overview_tables.timeline,
    "get_endpoint_statistics": reports.endpoint_statistics,
    "test_endpoint": reports.trial_card,
    "preview_steering": overview_tables.preview,
    "preview_baseline": overview_tables.next_runs,
    "propose_interval": cards.plan,
    "propose_next_time": cards.plan,
    "pause_until": cards.plan,
    "run_now": cards.plan,
    "clear_hints": cards.plan,
    "explain_endpoint": cards.plan,
    "pause_endpoints": _steered("Paused"),
    "resume_endpoints": _steered("Resumed"),
    "list_hints": listing(columns.HINTS, "No hints yet."),
    "list_runs": listing(columns.RUNS, "No matching runs."),
    "list_open_runs": listing(columns.OPEN_RUNS, "Nothing runs or waits."),
    "cancel_run": lambda answer: [text(f"{CANCELLED[answer['status']]}: {answer['run_id']}.")],
    "rerun": lambda answer: [text(f"Waits to run again: {answer['id']}.")],
    "redrive_runs": _queued(listing(columns.REDRIVEN, "No failed slots to run again.")),
    "backfill": _queued(listing(columns.BACKFILLED, "No slots were missed.")),
    "get_run": reports.run_card,
    "get_health": reports.health,
    "list_rules": listing(columns.RULES, "No rules yet."),
    "get_rule": cards.rule_card,
    "create_rule": cards.rule_card,
    "update_rule": cards.rule_card,
    "test_rule": cards.rule_trial,
    "delete_rule": "Deleted the rule {rule}.",
    "list_analyses": listing(columns.ANALYSES, NO_ANALYSES),
    "list_sittings": listing(columns.ALL_ANALYSES, NO_ANALYSES),
    "get_planner_cost": _part("days", listing(columns.COSTS, NO_COSTS)),
    "get_spending": _part("endpoints", listing(columns.SPENDING, NO_COSTS)),
    "list_learning": listing(columns.LEARNED, "No results yet."),
    "list_wakes": listing(columns.WAKES, "No agent was woken by a probe yet."),
    "list_schedules": listing(columns.SCHEDULES, "No schedules yet."),
    "create_schedule": cards.new_schedule,
    "update_schedule": _one(columns.SCHEDULES),
    "pause_schedule": _one(columns.SCHEDULES),
    "resume_schedule": "Resumed the schedule {schedule}.",
    "snooze_schedule": _one(columns.SCHEDULES),
    "run_schedule": "The schedule {schedule} runs now.",
    "list_schedule_runs": listing(columns.SCHEDULE_RUNS, "It has not run yet."),
    "explain_schedule": lambda answer: [text(answer["answer"])],
    "delete_schedule": "Deleted the schedule {schedule}.",
    "list_users": listing(columns.USERS, "No users yet. Create one with cadenza users put."),
    "get_user": cards.user_card,
    "put_user": cards.user_card,
    "get_user_channels": cards.user_channels,
    "put_user_channels": cards.user_channels,
    "test_user_channel": cards.channel_test,
    "create_user_token": cards.new_token,
    "delete_user": "Deleted the user {user} and all data of the user.",
    "list_agents": listing(columns.AGENTS, "No agents yet. Create one with cadenza agents put."),
    "get_agent": cards.agent_card,
    "put_agent": cards.agent_card,
    "send_message": cards.reply,
    "take_agent_turn": turn_cards.taken_turn,
    "renew_agent_turn": turn_cards.turn_card,
    "give_back_agent_turn": turn_cards.turn_card,
    "answer_agent_turn": turn_cards.turn_card,
    "get_agent_turn": turn_cards.turn_card,
    "call_agent_turn_tool": turn_cards.called_tool,
    "delete_agent": "Deleted the agent {agent} with its schedules and conversations.",
    "list_daily_users": listing(daily_tables.USERS, "No daily users yet. Create one with cadenza daily put."),
    "get_daily_user": daily_tables.user_with_days,
    "put_daily_user": daily_tables.user,
    "put_daily_users": daily_tables.imported,
    "delete_daily_user": "Removed the daily user {user}.",
    "list_programmes": listing(daily_tables.PROGRAMMES, "No programmes."),
    "get_programme": daily_tables.programme,
    "put_programme": daily_tables.programme,
    "delete_programme": "Deleted the programme {programme}.",
    "get_day": daily_tables.day,
    "get_windows": daily_tables.windows,
    "get_history": daily_tables.history,
    "list_misses": listing(daily_tables.VERDICTS, "No users missed."),
    "list_keys": listing(columns.KEYS, "No keys yet."),
    "create_key": cards.new_key,
    "delete_key": "Deleted the key {key_id}.",
    "list_secrets": listing(columns.SECRETS, "No secrets yet."),
    "put_secret": "Saved the secret {secret_name}. Use it in targets as ${{secret:{secret_name}}}.",
    "delete_secret": "Deleted the secret {name}.",
    "put_calendar": calendar_tables.calendar_card,
    "get_calendar": calendar_tables.calendar_card,
    "list_calendars": listing(
        calendar_tables.CALENDARS, "No calendars yet. Write one with cadenza calendars put."
    ),
    "list_calendar_uses": listing(calendar_tables.USES, "Nothing names it."),
    "delete_calendar": "Deleted the calendar {calendar}.",
    "preview_calendar": calendar_tables.calendar_year,
    "list_limits": listing(columns.LIMITS, "No limits."),
    "set_limit": _one(columns.LIMITS),
    "delete_limit": "Deleted the limit for the {kind} {name}.",
    "list_audit": listing(columns.AUDIT, "No matching audit records."),
    "get_audit_record": reports.audit_record,
    "restore_definition": reports.restored,
    "set_limits": reports.limits,
    "get_usage": reports.usage,
    "get_overview": overview_tables.overview,
    "list_alerts": overview_tables.alerts,
    "list_conditions": listing(columns.CONDITIONS, "No alerts."),
    "count_conditions": cards.condition_counts,
    "acknowledge_condition": cards.condition_card,
    "silence_condition": cards.condition_card,
    "unsilence_condition": cards.condition_card,
    "list_alert_routes": listing(columns.ALERT_ROUTES, "No alert routes yet."),
    "create_alert_route": cards.alert_route_card,
    "update_alert_route": cards.alert_route_card,
    "delete_alert_route": "Deleted the alert route {route}.",
    "test_alert_route": cards.channel_test,
    "get_slo": overview_tables.slo,
}
