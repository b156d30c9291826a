"""The statements about users with a daily job, and their verdicts."""

from cadenza.adapters.stores.sql.daily_rows import CHANGED, GAP, USER, VERDICT

TYPES = {
    **dict.fromkeys(("next_cutoff", "last_run_at", "added_at", "decided_at", "noticed_at"), "timestamptz"),
    **dict.fromkeys(("shard", "due"), "int"),
    "changes": "json",
    "late": "boolean",
}


def _given(*columns: str) -> str:
    arrays = ", ".join(
        f"${number}::{TYPES.get(column, 'text')}[]" for number, column in enumerate(columns, 1)
    )
    return f"unnest({arrays}) AS g ({', '.join(columns)})"


_OF_USER = ", ".join(f"u.{column}" for column in USER)
GET_USERS = f"""
SELECT {_OF_USER} FROM {_given("tenant_id", "user_id")}
JOIN daily_users u ON u.tenant_id = g.tenant_id AND u.user_id = g.user_id
ORDER BY u.tenant_id, u.user_id FOR UPDATE OF u
"""
"""Always in the same order, so that nobody waits for each other."""
LAST_DATES = f"""
SELECT g.tenant_id, g.user_id, (
    SELECT max(v.service_date) FROM daily_verdicts v
    WHERE v.tenant_id = g.tenant_id AND v.user_id = g.user_id
) FROM {_given("tenant_id", "user_id")}
"""
ADD_USERS = f"""
INSERT INTO daily_users ({", ".join(USER)}) SELECT {", ".join(USER)} FROM {_given(*USER)}
ORDER BY tenant_id, user_id ON CONFLICT DO NOTHING RETURNING tenant_id, user_id
"""
MOVE_USERS = f"""
UPDATE daily_users u SET {", ".join(f"{column} = g.{column}" for column in CHANGED)}
FROM {_given(*USER[:2], *CHANGED)} WHERE u.tenant_id = g.tenant_id AND u.user_id = g.user_id
"""
GET_USER = f"SELECT {', '.join(USER)} FROM daily_users WHERE tenant_id = $1 AND user_id = $2"
LIST_USERS = f"""
SELECT {", ".join(USER)} FROM daily_users WHERE tenant_id = $1 AND user_id > $2 ORDER BY user_id LIMIT $3
"""
REMOVE_USER = "DELETE FROM daily_users WHERE tenant_id = $1 AND user_id = $2 RETURNING user_id"
REMOVE_VERDICTS = "DELETE FROM daily_verdicts WHERE tenant_id = $1 AND user_id = $2"
REMOVE_GAPS = "DELETE FROM daily_gaps WHERE tenant_id = $1 AND user_id = $2"
OWED = """
SELECT next_cutoff, tenant_id, user_id FROM daily_users WHERE shard = $1 AND next_cutoff <= $2
ORDER BY next_cutoff, tenant_id, user_id LIMIT $3
"""
OWED_AFTER = """
SELECT next_cutoff, tenant_id, user_id FROM daily_users
WHERE shard = $1 AND next_cutoff <= $2 AND (next_cutoff, tenant_id, user_id) > ($4, $5, $6)
ORDER BY next_cutoff, tenant_id, user_id LIMIT $3
"""
ADD_VERDICTS = f"""
INSERT INTO daily_verdicts ({", ".join(VERDICT)}) SELECT {", ".join(VERDICT)} FROM {_given(*VERDICT)}
ON CONFLICT DO NOTHING RETURNING tenant_id, user_id, service_date
"""
ADD_GAPS = f"""
INSERT INTO daily_gaps ({", ".join(GAP)}) SELECT {", ".join(GAP)} FROM {_given(*GAP)}
ON CONFLICT DO NOTHING RETURNING tenant_id, user_id, from_date
"""
RESET_CONTEXTS = f"""
UPDATE users u SET context_reset_at = g.decided_at FROM {_given("tenant_id", "user_id", "decided_at")}
WHERE u.tenant_id = g.tenant_id AND u.id = g.user_id
    AND (u.context_reset_at IS NULL OR u.context_reset_at < g.decided_at)
"""
VERDICTS_OF = f"""
SELECT {", ".join(VERDICT)} FROM daily_verdicts
WHERE tenant_id = $1 AND user_id = $2 AND service_date < $3 ORDER BY service_date DESC LIMIT $4
"""
VERDICTS_ON = f"""
SELECT {", ".join(VERDICT)} FROM daily_verdicts
WHERE tenant_id = $1 AND service_date = $2 AND user_id > $3 ORDER BY user_id LIMIT $4
"""
GAPS_OF = f"""
SELECT {", ".join(GAP)} FROM daily_gaps WHERE tenant_id = $1 AND user_id = $2 ORDER BY from_date DESC
"""
NEXT_TENANT = "SELECT min(tenant_id) FROM daily_verdicts WHERE tenant_id > $1"
FORGET_VERDICTS = """
DELETE FROM daily_verdicts v USING (
    SELECT tenant_id, user_id, service_date FROM daily_verdicts
    WHERE tenant_id = $1 AND service_date < $2 ORDER BY service_date LIMIT $3
) AS g
WHERE v.tenant_id = g.tenant_id AND v.user_id = g.user_id AND v.service_date = g.service_date
RETURNING v.user_id
"""
FORGET_GAPS = """
DELETE FROM daily_gaps d USING (
    SELECT tenant_id, user_id, from_date FROM daily_gaps WHERE to_date < $1 LIMIT $2
) AS g
WHERE d.tenant_id = g.tenant_id AND d.user_id = g.user_id AND d.from_date = g.from_date
RETURNING d.user_id
"""
