"""The statements about what an owner has: jobs, endpoints by label, and their runs."""

from functools import lru_cache

from cadenza.adapters.stores.sql.catalog_rows import ENDED, JOB, LABEL
from cadenza.adapters.stores.sql.rows import LIVE, READ
from cadenza.adapters.stores.sqlite.statements import READ_ROW
from cadenza.domain.scheduling.run import Run

ADD_JOB = f"INSERT INTO jobs ({', '.join(JOB)}) VALUES ({', '.join('?' * len(JOB))})"
PUT_JOB = (
    f"{ADD_JOB} ON CONFLICT (tenant_id, id) DO UPDATE SET"
    f" {', '.join(f'{column} = excluded.{column}' for column in JOB[2:])}"
)
GET_JOB = f"SELECT {', '.join(JOB)} FROM jobs WHERE tenant_id = ? AND id = ?"
JOBS = f"SELECT {', '.join(JOB)} FROM jobs WHERE tenant_id = ? AND id > ? ORDER BY id LIMIT ?"
DROP_JOB = "DELETE FROM jobs WHERE tenant_id = ? AND id = ?"
LIVE_OF_JOB = f"{READ_ROW} WHERE e.tenant_id = ? AND e.job_id = ? AND NOT s.archived ORDER BY e.id"
UNLIKE_JOB = f"{READ_ROW} WHERE e.tenant_id = ? AND e.job_id = ? AND s.job_active <> ?"
"""Endpoints that do not follow their job yet."""

ADD_LABEL = f"INSERT INTO endpoint_labels ({', '.join(LABEL)}) VALUES (?, ?, ?, ?)"
DROP_LABEL = f"DELETE FROM endpoint_labels WHERE {' AND '.join(f'{column} = ?' for column in LABEL)}"

COUNT_LIVE = f"SELECT count(*) FROM endpoint_states WHERE tenant_id = ? AND {LIVE}"
COUNT_LIVE_UP_TO = (
    f"SELECT count(*) FROM (SELECT 1 FROM endpoint_states WHERE tenant_id = ? AND {LIVE} LIMIT ?)"
)
JOBS_OF_ESTATE = (
    f"SELECT {', '.join(JOB)} FROM jobs WHERE tenant_id = ?"
    " AND (id IN (SELECT value FROM json_each(?)) OR (applied AND ?)) ORDER BY id"
)
ENDPOINTS_OF_ESTATE = (
    f"SELECT {', '.join(READ)} FROM endpoints e CROSS JOIN endpoint_states s"
    " ON s.tenant_id = e.tenant_id AND s.endpoint_id = e.id WHERE e.tenant_id = :tenant_id AND e.id IN ("
    "SELECT id FROM endpoints WHERE tenant_id = :tenant_id"
    " AND job_id IN (SELECT value FROM json_each(:job_ids))"
    " UNION SELECT value FROM json_each(:endpoint_ids)) ORDER BY e.id"
)

# Everything that CROSS JOIN says is in which order to go: by the index that was asked for.
STANDING = "CROSS JOIN endpoint_states s ON s.tenant_id = e.tenant_id AND s.endpoint_id = e.id"
LABELLED = (
    f"SELECT {', '.join(READ)} FROM endpoint_labels l"
    f" CROSS JOIN endpoints e ON e.tenant_id = l.tenant_id AND e.id = l.endpoint_id {STANDING}"
    " WHERE l.tenant_id = ? AND l.endpoint_id > ? AND l.name = ? AND l.value = ?"
)
UNLABELLED = f"SELECT {', '.join(READ)} FROM endpoints e {STANDING} WHERE e.tenant_id = ? AND e.id > ?"
LABELLED_TOO = (
    " AND EXISTS (SELECT 1 FROM endpoint_labels o WHERE o.tenant_id = l.tenant_id AND o.name = ?"
    " AND o.value = ? AND o.endpoint_id = l.endpoint_id)"
)


@lru_cache
def find(labels: int, *, of_job: bool, archived: bool) -> str:
    """Endpoints in the order of their ids: tenant, after, labels, job, archived, limit."""
    return (
        (LABELLED + LABELLED_TOO * (labels - 1) if labels else UNLABELLED)
        + (" AND e.job_id = ?" if of_job else "")
        + (" AND s.archived = ?" if archived else "")
        + f" ORDER BY {'l.endpoint_id' if labels else 'e.id'} LIMIT ?"
    )


OF_TENANT = "FROM runs WHERE tenant_id = :tenant_id AND id < :after"
OF_ENDPOINT = "FROM runs WHERE tenant_id = :tenant_id AND endpoint_id = :endpoint_id AND id < :after"
MATCHING = (
    " AND id >= :floor AND (:job_id IS NULL OR job_id = :job_id)"
    " AND (:statuses IS NULL OR status IN (SELECT value FROM json_each(:statuses)))"
    " AND (:sources IS NULL OR source IN (SELECT value FROM json_each(:sources)))"
    " AND (:since IS NULL OR finished_at >= :since) AND (:until IS NULL OR finished_at < :until)"
    " ORDER BY id DESC LIMIT :limit"
)
FLOOR = f"SELECT id {OF_TENANT} ORDER BY id DESC LIMIT 1 OFFSET :scan - 1"
FLOOR_OF_ENDPOINT = f"SELECT id {OF_ENDPOINT} ORDER BY id DESC LIMIT 1 OFFSET :scan - 1"
"""The last of the runs that are looked at, if there are so many."""
FIND_RUNS = f"SELECT {', '.join(Run._fields)} {OF_TENANT}{MATCHING}"
FIND_RUNS_OF_ENDPOINT = f"SELECT {', '.join(Run._fields)} {OF_ENDPOINT}{MATCHING}"
ENDS = f"SELECT {', '.join(ENDED)} FROM runs WHERE tenant_id = ? AND endpoint_id = ? ORDER BY id DESC LIMIT ?"
