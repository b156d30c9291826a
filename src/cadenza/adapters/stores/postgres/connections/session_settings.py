"""How the server treats a session: how it plans statements, and when it ends what its client left behind."""

from cadenza.adapters.stores.postgres.connections.transactions import DriverConnection

SILENCE_S = 15
"""How long the other machine may be silent on the level of TCP until the kernel ends the connection."""
PROBES = 2
PROBE_S = SILENCE_S // (PROBES + 1)
SERVER_OPTIONS = {
    "tcp_keepalives_idle": PROBE_S,
    "tcp_keepalives_interval": PROBE_S,
    "tcp_keepalives_count": PROBES,
    "tcp_user_timeout": SILENCE_S * 1_000,
}
"""What the server's kernel does; by default, it keeps the locks of a machine that is gone for two hours."""
WATCH_CLIENT = f"""
SELECT set_config(name, value, false)
FROM (VALUES {", ".join(f"('{name}', '{value}')" for name, value in SERVER_OPTIONS.items())})
AS wanted (name, value)
WHERE current_setting(name, true) IS NOT NULL
"""
QUERY_OPTIONS = {
    "jit": "off",  # Compiling a statement that takes a millisecond takes hundreds.
    "plan_cache_mode": "force_generic_plan",  # Planning the claim takes longer than many a claim.
    # Every statement goes by keys, whatever the statistics of a table that has just grown may say.
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "enable_seqscan": "off",
}


def time_limits(timeout_s: float) -> dict[str, str]:
    """When the server ends a statement or a transaction that its client has given up.

    A client behind a network that went silent cannot say so, and one that leaves is not noticed by a
    statement that waits for a lock: without limits, rows stay locked for as long as TCP allows.
    """
    limit = f"{max(1, round(timeout_s * 1_000))}"
    return {"statement_timeout": limit, "idle_in_transaction_session_timeout": limit}


async def apply_settings(
    connection: DriverConnection, settings: dict[str, str], *, scope: str = "SESSION"
) -> None:
    """Set what applies to a session, or with `LOCAL` to its transaction."""
    await connection.execute("; ".join(f"SET {scope} {name} = {value}" for name, value in settings.items()))


async def watch_client(connection: DriverConnection) -> None:
    """Let the server's kernel end the session, too, when this machine is silent."""
    try:
        await connection.execute(WATCH_CLIENT)
    except BaseException:
        connection.terminate()
        raise
