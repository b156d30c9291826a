"""The statements about users with a daily job, and their verdicts."""

from cadenza.adapters.stores.sql.daily_rows import CHANGED, GAP, USER, VERDICT
from cadenza.adapters.stores.sqlite.batches import given

_USERS = f"INSERT INTO daily_users ({', '.join(USER)}) VALUES ({', '.join('?' * len(USER))})"
KEEP_USER = (
    f"{_USERS} ON CONFLICT (tenant_id, user_id) DO UPDATE SET"
    f" {', '.join(f'{column} = excluded.{column}' for column in CHANGED)}"
)
GET_USER = f"SELECT {', '.join(USER)} FROM daily_users WHERE tenant_id = ? AND user_id = ?"
LIST_USERS = (
    f"SELECT {', '.join(USER)} FROM daily_users WHERE tenant_id = ? AND user_id > ? ORDER BY user_id LIMIT ?"
)
REMOVE_USER = "DELETE FROM daily_users WHERE tenant_id = ? AND user_id = ?"
REMOVE_VERDICTS = "DELETE FROM daily_verdicts WHERE tenant_id = ? AND user_id = ?"
REMOVE_GAPS = "DELETE FROM daily_gaps WHERE tenant_id = ? AND user_id = ?"
OWED = """
SELECT next_cutoff, tenant_id, user_id FROM daily_users
WHERE shard = ? AND next_cutoff <= ? AND (next_cutoff, tenant_id, user_id) > (?, ?, ?)
ORDER BY next_cutoff, tenant_id, user_id LIMIT ?
"""
MOVE_USER = (
    f"UPDATE daily_users SET {', '.join(f'{column} = ?' for column in CHANGED)}"
    " WHERE tenant_id = ? AND user_id = ?"
)
ADD_VERDICT = (
    f"INSERT INTO daily_verdicts ({', '.join(VERDICT)}) VALUES ({', '.join('?' * len(VERDICT))})"
    " ON CONFLICT DO NOTHING"
)
ADD_GAP = (
    f"INSERT INTO daily_gaps ({', '.join(GAP)}) VALUES ({', '.join('?' * len(GAP))}) ON CONFLICT DO NOTHING"
)
RESET_CONTEXT = """
UPDATE users SET context_reset_at = ?
WHERE tenant_id = ? AND id = ? AND (context_reset_at IS NULL OR context_reset_at < ?)
"""
VERDICTS_OF = (
    f"SELECT {', '.join(VERDICT)} FROM daily_verdicts WHERE tenant_id = ? AND user_id = ?"
    " AND service_date < ? ORDER BY service_date DESC LIMIT ?"
)
VERDICTS_ON = (
    f"SELECT {', '.join(VERDICT)} FROM daily_verdicts WHERE tenant_id = ? AND service_date = ?"
    " AND user_id > ? ORDER BY user_id LIMIT ?"
)
GAPS_OF = (
    f"SELECT {', '.join(GAP)} FROM daily_gaps WHERE tenant_id = ? AND user_id = ? ORDER BY from_date DESC"
)
NEXT_TENANT = "SELECT min(tenant_id) FROM daily_verdicts WHERE tenant_id > ?"
FORGET_VERDICTS = """
DELETE FROM daily_verdicts WHERE rowid IN (
    SELECT rowid FROM daily_verdicts WHERE tenant_id = ? AND service_date < ? ORDER BY service_date LIMIT ?
)
"""
FORGET_GAPS = """
DELETE FROM daily_gaps WHERE rowid IN (SELECT rowid FROM daily_gaps WHERE to_date < ? LIMIT ?)
"""


def get_users(rows: int) -> str:
    """The users with so many keys."""
    selected = ", ".join(f"u.{column}" for column in USER)
    return (
        f"{given(rows, 'tenant_id', 'user_id')} SELECT {selected} FROM g CROSS JOIN daily_users u"
        " ON u.tenant_id = g.tenant_id AND u.user_id = g.user_id"
    )


def last_dates(rows: int) -> str:
    """The newest days with a verdict of so many users."""
    newest = (
        "SELECT max(v.service_date) FROM daily_verdicts v"
        " WHERE v.tenant_id = g.tenant_id AND v.user_id = g.user_id"
    )
    return f"{given(rows, 'tenant_id', 'user_id')} SELECT tenant_id, user_id, ({newest}) FROM g"
