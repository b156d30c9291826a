"""Parts of an endpoint in a few words."""

from cadenza.surfaces.cli.output.formatting import Item, moment, span


def baseline(shape: Item) -> str:
    """A baseline in a few words."""
    match shape["kind"]:
        case "every":
            return f"every {span(shape['interval_ms'])}"
        case "cron":
            return f"{shape['expression']} {shape['timezone']}"
        case _:
            return f"once {moment(shape['at'])}"


def target(shape: Item) -> str:
    """A target in a few words."""
    match shape["kind"]:
        case "http":
            return f"{shape['method']} {shape['url']}"
        case "callable":
            return f"function {shape['function']}"
        case _:
            return f"prompt to {shape['agent_id']} for {shape['user_id']}"


def state(endpoint: Item) -> str:
    """What an endpoint is about, in a word."""
    told = (
        (endpoint["running"], "running"),
        (not endpoint["enabled"], "disabled"),
        (not endpoint["job_active"], "job paused"),
        (endpoint["paused_until"] is not None, "paused"),
        (endpoint["quota_opens_at"] is not None, "quota used up"),
        (endpoint["next_run_at"] is None, "finished"),
    )
    return next((word for true, word in told if true), "waiting")
