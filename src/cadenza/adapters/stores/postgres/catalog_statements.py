"""The statements about what an owner has: jobs, endpoints by label, and their runs."""

from functools import lru_cache
from itertools import count

from cadenza.adapters.stores.postgres.arrays import given
from cadenza.adapters.stores.sql.catalog_rows import ENDED, JOB, LABEL
from cadenza.adapters.stores.sql.rows import LIVE, READ
from cadenza.domain.scheduling.run import Run

# Who brings an endpoint into a job or under a label waits for who changes jobs, or many endpoints at once:
# one would miss the other. This lock comes before all others, and workers never take it.
JOIN_TENANT = "SELECT pg_advisory_xact_lock_shared(hashtextextended('catalog' || E'\\n' || $1, 0))"
HOLD_TENANT = "SELECT pg_advisory_xact_lock(hashtextextended('catalog' || E'\\n' || $1, 0))"

ADD_JOB = (
    f"INSERT INTO jobs ({', '.join(JOB)}) VALUES ($1, $2, $3, $4, $5, $6, $7)"
    " ON CONFLICT DO NOTHING RETURNING id"
)
PUT_JOB = (
    f"INSERT INTO jobs ({', '.join(JOB)}) VALUES ($1, $2, $3, $4, $5, $6, $7)"
    " ON CONFLICT (tenant_id, id) DO UPDATE SET"
    f" {', '.join(f'{column} = excluded.{column}' for column in JOB[2:])}"
)
GET_JOBS = f"SELECT {', '.join(JOB)} FROM jobs WHERE tenant_id = $1 AND id = ANY ($2::text[])"
JOBS = f"SELECT {', '.join(JOB)} FROM jobs WHERE tenant_id = $1 AND id > $2 ORDER BY id LIMIT $3"
DROP_JOBS = "DELETE FROM jobs WHERE tenant_id = $1 AND id = ANY ($2::text[])"
# OFFSET 0 keeps the planner from knowing that both rows are of one tenant: of a table that has just grown
# it believes that a tenant has a handful of rows, and would go through all of them for each.
STANDING = (
    "CROSS JOIN LATERAL (SELECT s.* FROM endpoint_states s"
    " WHERE s.tenant_id = e.tenant_id AND s.endpoint_id = e.id OFFSET 0) AS s"
)
LIVE_OF_JOB = (
    f"SELECT e.id FROM endpoints e {STANDING} WHERE e.tenant_id = $1 AND e.job_id = $2 AND NOT s.archived"
)
UNLIKE_JOBS = (
    f"SELECT e.id FROM unnest($2::text[], $3::boolean[]) AS j (id, active)"
    f" JOIN endpoints e ON e.tenant_id = $1 AND e.job_id = j.id {STANDING} WHERE s.job_active <> j.active"
)
"""Endpoints that do not follow their jobs yet."""

ADD_LABELS = (
    f"INSERT INTO endpoint_labels ({', '.join(LABEL)})"
    f" SELECT {', '.join(LABEL)} FROM {given('g', *LABEL)} ON CONFLICT DO NOTHING"
)
DROP_LABELS = (
    f"DELETE FROM endpoint_labels l USING {given('g', *LABEL)}"
    f" WHERE {' AND '.join(f'l.{column} = g.{column}' for column in LABEL)}"
)

COUNT_LIVE = f"SELECT count(*) FROM endpoint_states WHERE tenant_id = $1 AND {LIVE}"
COUNT_LIVE_UP_TO = (
    f"SELECT count(*) FROM (SELECT FROM endpoint_states WHERE tenant_id = $1 AND {LIVE} LIMIT $2) AS live"
)
JOBS_OF_ESTATE = (
    f"SELECT {', '.join(JOB)} FROM jobs"
    " WHERE tenant_id = $1 AND (id = ANY ($2::text[]) OR (applied AND $3::boolean)) ORDER BY id"
)
ENDPOINTS_OF_ESTATE = (
    "SELECT id FROM endpoints WHERE tenant_id = $1 AND job_id = ANY ($2::text[])"
    " UNION SELECT unnest($3::text[])"
)

LABELLED = (
    f"SELECT {', '.join(READ)} FROM endpoint_labels l CROSS JOIN LATERAL (SELECT e.* FROM endpoints e"
    f" WHERE e.tenant_id = l.tenant_id AND e.id = l.endpoint_id OFFSET 0) AS e {STANDING}"
    " WHERE l.tenant_id = $1 AND l.endpoint_id > $2 AND l.name = $4 AND l.value = $5"
)
LABELLED_TOO = (
    " AND EXISTS (SELECT FROM endpoint_labels o WHERE o.tenant_id = l.tenant_id"
    " AND o.name = ${} AND o.value = ${} AND o.endpoint_id = l.endpoint_id OFFSET 0)"
)
UNLABELLED = f"SELECT {', '.join(READ)} FROM endpoints e {STANDING} WHERE e.tenant_id = $1 AND e.id > $2"


@lru_cache
def find(labels: int, *, of_job: bool, archived: bool) -> str:
    """Endpoints in the order of their ids: tenant, after, limit, labels, job, archived."""
    place = count(4 + 2 * min(labels, 1))
    others = "".join(LABELLED_TOO.format(next(place), next(place)) for _ in range(labels - 1))
    return (
        (LABELLED + others if labels else UNLABELLED)
        + (f" AND e.job_id = ${next(place)}" if of_job else "")
        + (f" AND s.archived = ${next(place)}" if archived else "")
        + f" ORDER BY {'l.endpoint_id' if labels else 'e.id'} LIMIT $3"
    )


@lru_cache
def floor(*, of_endpoint: bool, within: bool) -> str:
    """The last run that is looked at, if there are so many: tenant, before, how many, endpoint, days.

    Without a span, the index alone tells. The days of a span leave out all other partitions.
    """
    place = count(4)
    return (
        "SELECT id FROM runs WHERE tenant_id = $1 AND id < $2"
        + (f" AND endpoint_id = ${next(place)}" if of_endpoint else "")
        + (f" AND finished_at >= ${next(place)} AND finished_at < ${next(place)}" if within else "")
        + " ORDER BY id DESC LIMIT 1 OFFSET $3::int - 1"
    )


MATCHING = (
    f"SELECT {', '.join(Run._fields)} FROM runs WHERE tenant_id = $1 AND id < $2 AND id >= $3"
    " AND finished_at >= $4 AND finished_at < $5 AND ($6::text IS NULL OR job_id = $6)"
    " AND ($7::text[] IS NULL OR status = ANY ($7)) AND ($8::text[] IS NULL OR source = ANY ($8))"
)
FIND_RUNS = f"{MATCHING} ORDER BY id DESC LIMIT $9"
FIND_RUNS_OF_ENDPOINT = f"{MATCHING} AND endpoint_id = $10 ORDER BY id DESC LIMIT $9"
ENDED_SINCE = (
    f"SELECT * FROM (SELECT {', '.join(ENDED)} FROM runs WHERE tenant_id = $1 AND endpoint_id = $2"
    " AND finished_at >= $3 ORDER BY id DESC LIMIT $4) AS newest WHERE finished_at >= $5"
)
