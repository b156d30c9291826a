"""The statements about users, agents, conversations and what is owed; the databases differ in few words."""

from collections.abc import Callable
from typing import NamedTuple

from cadenza.adapters.stores.sql.agent_rows import AGENT, CONVERSATION, DELIVERY, MESSAGE, SAID, USER
from cadenza.adapters.stores.sql.rows import READ

FREE = "turn_token = NULL, turn_until = NULL"


class Dialect(NamedTuple):
    """How a database writes what both mean."""

    place: Callable[[int], str]
    moment: Callable[[int], str]
    user_of: str
    """The user of an endpoint `e` with a prompt target."""
    agent_of: str
    alerted: str
    """The endpoint that an alert is about."""
    locked: str
    """Keeps what was read as it is, until the commit."""
    kept: str
    """Keeps what was read from being deleted, until the commit."""
    some: str
    """Some rows of a table, so many of those."""


class AgentStatements(NamedTuple):
    """What is asked of these tables."""

    put_user: str
    get_user: str
    users: str
    hold_user: str
    put_agent: str
    get_agent: str
    agents: str
    schedules: str
    of_user: str
    of_agent: str
    begin_turn: str
    renew_turn: str
    end_turn: str
    who_speaks: str
    number_messages: str
    add_message: str
    context: str
    messages: str
    reset: str
    forget_said: str
    forget_usage: str
    number_owed: str
    add_owed: str
    fired_before: str
    deliveries: str
    owed: str
    owed_firings: str
    acknowledge: str
    last_seq: str
    forget_expired: str
    forget_delivered: str
    spend: str
    spent_by_user: str
    spent_by_tenant: str
    forget_replies_of: str
    forget_alerts_of: str


def _statements(dialect: Dialect) -> AgentStatements:
    place, moment, user_of, agent_of, alerted, locked, kept, some = dialect
    one = f"tenant_id = {place(1)} AND id = {place(2)}"
    of_user = f"tenant_id = {place(1)} AND user_id = {place(2)}"
    of_conversation = f"{of_user} AND agent_id = {place(3)}"
    page = f"tenant_id = {place(1)} AND id > {place(2)} ORDER BY id LIMIT {place(3)}"
    key = ", ".join(CONVERSATION)
    numbered = f"FROM pending_messages WHERE {of_user} AND seq > {place(3)} AND seq <= {place(4)}"
    owed = f"SELECT {', '.join(DELIVERY)} {numbered} AND expires_at > {moment(5)}"
    in_order = f"ORDER BY seq LIMIT {place(6)}"
    said = f"SELECT {', '.join(SAID)} FROM conversation_messages"
    endpoints = (
        f"SELECT {', '.join(READ)} FROM endpoints e"
        " JOIN endpoint_states s ON s.tenant_id = e.tenant_id AND s.endpoint_id = e.id"
    )

    def values(columns: tuple[str, ...]) -> str:
        return f"({', '.join(columns)}) VALUES ({', '.join(place(n + 1) for n in range(len(columns)))})"

    def delete_some(table: str, those: str) -> str:
        return f"DELETE FROM {table} WHERE {some.format(table=table, those=those, most=place(2))}"

    return AgentStatements(
        put_user=(
            f"INSERT INTO users {values(USER)} ON CONFLICT (tenant_id, id) DO UPDATE"
            f" SET timezone = excluded.timezone RETURNING {', '.join(USER)}"
        ),
        get_user=f"SELECT {', '.join(USER)} FROM users WHERE {one}",
        users=f"SELECT {', '.join(USER)} FROM users WHERE {page}",
        hold_user=f"SELECT id FROM users WHERE {one} {locked}",
        put_agent=(
            f"INSERT INTO agents {values(AGENT)} ON CONFLICT (tenant_id, id) DO UPDATE"
            " SET name = excluded.name, instructions = excluded.instructions, model = excluded.model"
            f" RETURNING {', '.join(AGENT)}"
        ),
        get_agent=f"SELECT {', '.join(AGENT)} FROM agents WHERE {one}",
        agents=f"SELECT {', '.join(AGENT)} FROM agents WHERE {page}",
        schedules=(
            f"{endpoints} WHERE e.tenant_id = {place(1)} AND {user_of} = {place(2)} AND e.id > {place(3)}"
            f" AND NOT s.archived AND (NOT {place(4)} OR (s.enabled AND s.next_run_at IS NOT NULL))"
            f" ORDER BY e.id LIMIT {place(5)}"
        ),
        of_user=(
            f"SELECT e.id FROM endpoints e WHERE e.tenant_id = {place(1)} AND {user_of} = {place(2)}"
            " ORDER BY e.id"
        ),
        of_agent=(
            f"SELECT e.id FROM endpoints e WHERE e.tenant_id = {place(1)} AND {user_of} IS NOT NULL"
            f" AND {agent_of} = {place(2)} ORDER BY e.id"
        ),
        begin_turn=(
            f"INSERT INTO conversations ({key}, turn_token, turn_until)"
            f" SELECT u.tenant_id, u.id, a.id, CAST({place(4)} AS text), {moment(5)} FROM users u"
            f" JOIN agents a ON a.tenant_id = u.tenant_id AND a.id = {place(3)}"
            f" WHERE u.tenant_id = {place(1)} AND u.id = {place(2)} {kept}"
            f" ON CONFLICT ({key}) DO UPDATE"
            " SET turn_token = excluded.turn_token, turn_until = excluded.turn_until"
            " WHERE conversations.turn_token IS NULL OR conversations.turn_token = excluded.turn_token"
            f" OR conversations.turn_until <= {moment(6)} RETURNING user_id"
        ),
        renew_turn=(
            f"UPDATE conversations SET turn_until = {moment(5)} WHERE {of_conversation}"
            f" AND turn_token = {place(4)} RETURNING user_id"
        ),
        end_turn=f"UPDATE conversations SET {FREE} WHERE {of_conversation} AND turn_token = {place(4)}",
        who_speaks=f"SELECT turn_token FROM conversations WHERE {of_conversation} {locked}",
        number_messages=(
            f"INSERT INTO conversations AS c ({key}, last_number)"
            f" VALUES ({place(1)}, {place(2)}, {place(3)}, {place(4)})"
            f" ON CONFLICT ({key}) DO UPDATE SET last_number = c.last_number + excluded.last_number"
            " RETURNING last_number"
        ),
        add_message=f"INSERT INTO conversation_messages {values(MESSAGE)}",
        context=(
            f"SELECT {', '.join(SAID)} FROM (SELECT * FROM conversation_messages WHERE {of_conversation}"
            f" ORDER BY number DESC LIMIT {place(4)}) AS newest WHERE NOT EXISTS (SELECT 1 FROM users u"
            f" WHERE u.tenant_id = {place(1)} AND u.id = {place(2)} AND u.context_reset_at > newest.turn_at)"
            " ORDER BY number"
        ),
        messages=(
            f"{said} WHERE {of_conversation} AND number < coalesce((SELECT number FROM conversation_messages"
            f" WHERE {of_conversation} AND id = {place(4)}), 4611686018427387904)"
            f" ORDER BY number DESC LIMIT {place(5)}"
        ),
        reset=(
            f"UPDATE users SET context_reset_at = {moment(3)} WHERE {one}"
            f" AND (context_reset_at IS NULL OR context_reset_at < {moment(3)})"
        ),
        forget_said=delete_some("conversation_messages", f"at < {moment(1)}"),
        forget_usage=f"DELETE FROM agent_usage WHERE day < {place(1)}",
        number_owed=f"UPDATE users SET last_seq = last_seq + {place(3)} WHERE {one} RETURNING last_seq",
        add_owed=f"INSERT INTO pending_messages {values(DELIVERY)}",
        fired_before=(
            f"SELECT {', '.join(DELIVERY)} FROM pending_messages WHERE {of_user} AND firing = {place(3)}"
            " ORDER BY seq"
        ),
        deliveries=f"{owed} {in_order}",
        owed=f"{owed} AND NOT delivered {in_order}",
        owed_firings=(
            f"SELECT count(DISTINCT firing) FROM pending_messages WHERE {of_user}"
            f" AND NOT delivered AND expires_at > {moment(3)}"
        ),
        acknowledge=(
            f"UPDATE pending_messages SET delivered = true WHERE {of_user} AND seq <= {place(3)}"
            " AND NOT delivered RETURNING seq"
        ),
        last_seq=f"SELECT last_seq FROM users WHERE {one}",
        forget_expired=delete_some("pending_messages", f"expires_at <= {moment(1)}"),
        forget_delivered=delete_some("pending_messages", f"delivered AND created_at < {moment(1)}"),
        spend=(
            "INSERT INTO agent_usage AS u (tenant_id, day, user_id, fires, tokens)"
            f" VALUES ({', '.join(place(n) for n in range(1, 6))})"
            " ON CONFLICT (tenant_id, day, user_id) DO UPDATE"
            " SET fires = u.fires + excluded.fires, tokens = u.tokens + excluded.tokens"
        ),
        spent_by_user=(
            f"SELECT fires, tokens FROM agent_usage WHERE tenant_id = {place(1)} AND day = {place(2)}"
            f" AND user_id = {place(3)}"
        ),
        spent_by_tenant=(
            "SELECT CAST(coalesce(sum(fires), 0) AS bigint), CAST(coalesce(sum(tokens), 0) AS bigint)"
            f" FROM agent_usage WHERE tenant_id = {place(1)} AND day = {place(2)}"
        ),
        forget_replies_of=(
            f"DELETE FROM replies WHERE tenant_id = {place(1)} AND key >= {place(2)} AND key < {place(3)}"
        ),
        forget_alerts_of=(
            f"DELETE FROM alerts WHERE key >= {place(1)} AND key < {place(2)} AND {alerted} = {place(3)}"
        ),
    )


SQLITE = _statements(
    Dialect(
        place="?{}".format,
        moment="?{}".format,
        user_of="json_extract(e.definition, '$.target.user_id')",
        agent_of="json_extract(e.definition, '$.target.agent_id')",
        alerted="json_extract(facts, '$.endpoint_id')",
        locked="",
        kept="",
        some="rowid IN (SELECT rowid FROM {table} WHERE {those} LIMIT {most})",
    )
)
POSTGRES = _statements(
    Dialect(
        place="${}".format,
        moment="${}::timestamptz".format,
        user_of="(e.definition #>> '{target,user_id}')",
        agent_of="(e.definition #>> '{target,agent_id}')",
        alerted="(facts ->> 'endpoint_id')",
        locked="FOR NO KEY UPDATE",
        kept="FOR KEY SHARE",
        some="ctid = ANY (ARRAY(SELECT ctid FROM {table} WHERE {those} LIMIT {most}))",
    )
)

BELONGINGS = ("endpoint_labels", "endpoint_states", "hints", "runs", "analyses", "looks", "notes")
"""What goes with an endpoint, found by its id."""
OF_USER = (
    "conversation_messages",
    "conversations",
    "pending_messages",
    "agent_usage",
    "keys",
    "daily_users",
    "daily_verdicts",
    "daily_gaps",
)
"""What goes with a user."""
OF_AGENT = ("conversation_messages", "conversations")
