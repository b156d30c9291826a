"""The tables that the small stores in memory share, and the writes that keep them consistent."""

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import partial
from threading import RLock
from typing import NamedTuple

from cadenza.adapters.stores.common import (
    calendar_changed,
    following_job,
    not_found,
    owners_of_prompts,
    wakes,
    with_job_active,
)
from cadenza.adapters.stores.memory.scheduling.due_index import DueByShare, DueIndex
from cadenza.adapters.stores.wakeup import TurnWakeups, UserWakeups, Wakeups
from cadenza.domain.access.audit import AuditRecord
from cadenza.domain.access.run_limit import RunLimit, StartedRuns, limit_keys
from cadenza.domain.access.tenant import MonthlyUsage, Tenant
from cadenza.domain.agents.agent_turn import AgentTurn
from cadenza.domain.agents.channels.user_channels import UserChannels
from cadenza.domain.agents.conversation import ConversationKey, Message
from cadenza.domain.agents.delivery import Delivery
from cadenza.domain.agents.users import Agent, AgentKey, User, UserKey
from cadenza.domain.daily.keys import DailyKey, ProgrammeKey
from cadenza.domain.daily.programme import Programme
from cadenza.domain.daily.rules import SHARDS
from cadenza.domain.daily.user import DailyGap, DailyUser, Verdict
from cadenza.domain.monitoring.alert import Alert
from cadenza.domain.monitoring.alert_message import AlertMessage
from cadenza.domain.monitoring.alert_route import AlertRoute
from cadenza.domain.monitoring.condition import Condition, ConditionKey
from cadenza.domain.monitoring.heartbeat import Signal
from cadenza.domain.planning.analysis import Analysis
from cadenza.domain.planning.rules.rule import Rule
from cadenza.domain.scheduling.abandon import sweep_at
from cadenza.domain.scheduling.calendars.calendar import Calendar
from cadenza.domain.scheduling.calendars.compile import CompiledCalendar
from cadenza.domain.scheduling.calendars.following import calendars_of
from cadenza.domain.scheduling.due import claimable_at
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey, Job, evolve
from cadenza.domain.scheduling.run import ProcessDeath, Run, SkippedSlot, skipped_run
from cadenza.domain.scheduling.steer import ChangedEndpoint, HintRecord
from cadenza.ports.access import IdempotentReply, Session, StoredKey
from cadenza.ports.agents import AgentUsage
from cadenza.ports.ids import Ids
from cadenza.ports.monitoring import SloStatus

FEED_SIZE = 100_000
"""How many ended runs the feed of the planners holds."""


class StoredMessage(NamedTuple):
    """A message, and when its turn began."""

    message: Message
    turn_at: datetime


class TurnLease(NamedTuple):
    """The lease of a conversation's turn: its token, and until when it lasts."""

    token: str
    until: datetime


@dataclass(slots=True)
class StoredChannels:
    """A user's channels, when to look at the user, and the claim of a message."""

    channels: UserChannels
    due_at: datetime | None = None
    claim_token: str | None = None
    claim_until: datetime | None = None


@dataclass(slots=True)
class StoredAlert:
    """An alert, and whether it was applied to its condition."""

    alert: Alert
    applied: bool = False


@dataclass(slots=True)
class StoredAlertMessage:
    """A message about conditions, and when to send it."""

    message: AlertMessage
    due_at: datetime
    attempts: int = 0


@dataclass(eq=False, kw_only=True)
class MemoryTables:
    """All tables; the lock is held while they are read or written."""

    ids: Ids
    lock: RLock = field(default_factory=RLock)
    wakeups: Wakeups = field(default_factory=Wakeups)
    user_wakeups: UserWakeups = field(default_factory=UserWakeups)
    turn_wakeups: TurnWakeups = field(default_factory=TurnWakeups)

    endpoints: dict[EndpointKey, Endpoint] = field(default_factory=dict)
    ranks: dict[EndpointKey, int] = field(default_factory=dict)
    due: DueByShare = field(default_factory=DueByShare)
    sweeps: DueIndex = field(default_factory=DueIndex)
    holders: dict[str, str] = field(default_factory=dict)
    """Who holds a lease, by its token."""
    deaths: dict[str, ProcessDeath] = field(default_factory=dict)
    """What the holder of a lease had in flight when its leases began to run out, by their tokens."""
    functions: dict[str, datetime] = field(default_factory=dict)
    """When each function was last declared."""
    heartbeat_tokens: dict[EndpointKey, bytes] = field(default_factory=dict)
    heartbeat_signals: dict[EndpointKey, list[tuple[datetime | None, Signal]]] = field(
        default_factory=partial(defaultdict, list)
    )
    """Signals with the slot that took them; None for those that wait."""
    limits: dict[tuple[str, str], RunLimit] = field(default_factory=dict)
    """By the tenant and the key of the limit."""
    limit_starts: dict[tuple[str, str], list[StartedRuns]] = field(default_factory=partial(defaultdict, list))
    limited_in_flight: dict[EndpointKey, tuple[str, ...]] = field(default_factory=dict)
    """Endpoints that hold a place of limits, with the keys of these."""
    runs: dict[EndpointKey, dict[str, Run]] = field(default_factory=partial(defaultdict, dict))
    hints: dict[EndpointKey, list[HintRecord]] = field(default_factory=partial(defaultdict, list))
    jobs: dict[tuple[str, str], Job] = field(default_factory=dict)
    calendars: dict[tuple[str, str], CompiledCalendar] = field(default_factory=dict)

    rules: dict[tuple[str, str], Rule] = field(default_factory=dict)
    feed: deque[Run] = field(default_factory=partial(deque, maxlen=FEED_SIZE))
    feed_dropped: int = 0
    analyses: dict[EndpointKey, dict[str, Analysis]] = field(default_factory=partial(defaultdict, dict))
    looks: dict[tuple[EndpointKey, str], datetime] = field(default_factory=dict)
    notes: dict[tuple[str, EndpointKey], tuple[str, datetime]] = field(default_factory=dict)

    users: dict[UserKey, User] = field(default_factory=dict)
    agents: dict[AgentKey, Agent] = field(default_factory=dict)
    messages: dict[ConversationKey, list[StoredMessage]] = field(default_factory=partial(defaultdict, list))
    turn_leases: dict[ConversationKey, TurnLease] = field(default_factory=dict)
    context_resets: dict[UserKey, datetime] = field(default_factory=dict)
    deliveries: dict[UserKey, list[Delivery]] = field(default_factory=partial(defaultdict, list))
    last_seqs: dict[UserKey, int] = field(default_factory=partial(defaultdict, int))
    sent_seqs: dict[UserKey, int] = field(default_factory=partial(defaultdict, int))
    expired_messages: dict[UserKey, int] = field(default_factory=partial(defaultdict, int))
    user_channels: dict[UserKey, StoredChannels] = field(default_factory=dict)
    agent_turns: dict[str, AgentTurn] = field(default_factory=dict)
    agent_spent: dict[tuple[UserKey, date], AgentUsage] = field(default_factory=dict)

    programmes: dict[ProgrammeKey, Programme] = field(default_factory=dict)
    daily_users: dict[DailyKey, DailyUser] = field(default_factory=dict)
    daily_openings: list[list[tuple[datetime, DailyKey]]] = field(
        default_factory=lambda: [[] for _ in range(SHARDS)]
    )
    """When the next window of each shard's users opens, soonest first."""
    daily_verdicts: dict[DailyKey, dict[date, Verdict]] = field(default_factory=partial(defaultdict, dict))
    daily_gaps: dict[DailyKey, dict[date, DailyGap]] = field(default_factory=partial(defaultdict, dict))

    tenants: dict[str, Tenant] = field(default_factory=dict)
    spent: dict[tuple[str, str], MonthlyUsage] = field(default_factory=dict)
    keys: dict[str, StoredKey] = field(default_factory=dict)
    key_removals: int = 0
    sessions: dict[bytes, Session] = field(default_factory=dict)
    replies: dict[tuple[str, str], IdempotentReply] = field(default_factory=dict)
    rates: dict[int, dict[str, int]] = field(default_factory=dict)
    audit: dict[tuple[str, str], AuditRecord] = field(default_factory=dict)

    slos: dict[tuple[str, str, str], SloStatus] = field(default_factory=dict)
    alerts: dict[str, StoredAlert] = field(default_factory=dict)
    conditions: dict[ConditionKey, Condition] = field(default_factory=dict)
    alert_messages: dict[str, StoredAlertMessage] = field(default_factory=dict)
    alert_routes: dict[tuple[str, str], AlertRoute] = field(default_factory=dict)

    def endpoint(self, key: EndpointKey) -> Endpoint:
        """The endpoint; NotFound if there is none."""
        try:
            return self.endpoints[key]
        except KeyError:
            raise not_found("endpoint", key.id) from None

    def job(self, tenant_id: str, job_id: str) -> Job:
        """The job; NotFound if there is none."""
        try:
            return self.jobs[tenant_id, job_id]
        except KeyError:
            raise not_found("job", job_id) from None

    def endpoints_of(self, tenant_id: str) -> list[Endpoint]:
        """A tenant's endpoints, in the order of their ids."""
        found = [one for one in list(self.endpoints.values()) if one.tenant_id == tenant_id]
        return sorted(found, key=lambda endpoint: endpoint.id)

    def add_endpoint(self, endpoint: Endpoint) -> None:
        """Write a new endpoint, active if its job is, and wake the workers."""
        self.check_owners([endpoint])
        self.refuse_older(endpoint.tenant_id, calendars_of(endpoint))
        self.ranks[endpoint.key] = len(self.ranks)
        self.put_endpoint(self.under_limits(following_job(endpoint, self._job_of(endpoint))))
        self.wakeups.notify([endpoint.tenant_id])

    def amend_endpoint(self, amended: ChangedEndpoint) -> ChangedEndpoint:
        """Write a changed endpoint and what the change records; wake the workers if its next run moved."""
        self.check_owners([amended.endpoint])
        after = amended.endpoint
        before = self.endpoints[after.key]
        self.refuse_older(after.tenant_id, {*calendars_of(after)} - {*calendars_of(before)})
        if before.archived and not after.archived:
            self.refuse_older(after.tenant_id, calendars_of(after), deleted=True)
        if after.job_id != self.endpoints[after.key].job_id:
            after = following_job(after, self._job_of(after))
        after = self.under_limits(with_job_active(after, self._job_of(after)))
        moved = wakes(self.endpoints[after.key], after)
        self.put_endpoint(after, amended.skipped)
        if amended.closed is not None:
            self.put_run(amended.closed)
        if amended.record is not None:
            self.hints[after.key].append(amended.record)
        if moved:
            self.wakeups.notify([after.tenant_id])
        return amended._replace(endpoint=after)

    def refuse_older(self, tenant_id: str, named: Iterable[Calendar], *, deleted: bool = False) -> None:
        """Conflict if a calendar was written since it was looked up; if asked, also if it was deleted."""
        for one in named:
            stored = self.calendars.get((tenant_id, one.id))
            if deleted if stored is None else stored.calendar != one:
                raise calendar_changed(one.id)

    def under_limits(self, endpoint: Endpoint) -> Endpoint:
        """The endpoint under those limits that are about it."""
        if not (self.limits or endpoint.limited_by):
            return endpoint
        keys = tuple(key for key in limit_keys(endpoint) if (endpoint.tenant_id, key) in self.limits)
        return endpoint if keys == endpoint.limited_by else evolve(endpoint, limited_by=keys)

    def check_owners(self, endpoints: Iterable[Endpoint]) -> None:
        """NotFound, unless the users and agents of prompts exist."""
        for kind, tenant_id, id_ in owners_of_prompts(endpoints):
            owners = self.users if kind == "user" else self.agents
            if (tenant_id, id_) not in owners:
                raise not_found(kind, id_)

    def put_endpoint(self, endpoint: Endpoint, slots: Sequence[SkippedSlot] = ()) -> None:
        """Write an endpoint and its place in the indexes, and a run for each skipped slot."""
        key = endpoint.key
        self.endpoints[key] = endpoint
        self.due.put(endpoint, claimable_at(endpoint), self.ranks[key])
        self.sweeps.put(key, sweep_at(endpoint), self.ranks[key])
        if endpoint.limited_by and endpoint.lease:
            self.limited_in_flight[key] = endpoint.limited_by
        elif self.limited_in_flight:
            self.limited_in_flight.pop(key, None)
        for slot in slots:
            self.put_run(skipped_run(endpoint, slot, self.ids.new()))

    def put_run(self, run: Run) -> None:
        """Write a run; one that has ended also goes to the feed, without its response."""
        self.runs[EndpointKey(run.tenant_id, run.endpoint_id)][run.id] = run
        if run.finished_at is None:
            return
        if len(self.feed) == FEED_SIZE:
            self.feed_dropped += 1
        large = run.response is not None or run.traceback is not None
        self.feed.append(run._replace(response=None, traceback=None) if large else run)

    def put_job(self, job: Job) -> None:
        """Write a job; its endpoints become active or inactive with it."""
        self.refuse_older(job.tenant_id, job.calendar_rules.calendars)
        self.jobs[job.tenant_id, job.id] = job
        self._follow_job(job.tenant_id, job.id)

    def drop_key(self, key_id: str) -> None:
        """Delete a key with the sessions that were opened and the tokens that were made with it."""
        del self.keys[key_id]
        self.key_removals += 1
        for session in [one for one in self.sessions.values() if one.key_id == key_id]:
            del self.sessions[session.digest]
        for token in [one.key for one in self.keys.values() if one.key.made_by == key_id]:
            self.drop_key(token.id)

    def drop_job(self, tenant_id: str, job_id: str) -> None:
        """Delete a job with its rules."""
        self.jobs.pop((tenant_id, job_id), None)
        for key, rule in list(self.rules.items()):
            if (rule.tenant_id, rule.job_id) == (tenant_id, job_id):
                del self.rules[key]
        self._follow_job(tenant_id, job_id)

    def _follow_job(self, tenant_id: str, job_id: str) -> None:
        job = self.jobs.get((tenant_id, job_id))
        for endpoint in self.endpoints_of(tenant_id):
            if endpoint.job_id == job_id:
                self.put_endpoint(with_job_active(endpoint, job))

    def _job_of(self, endpoint: Endpoint) -> Job | None:
        return self.jobs.get((endpoint.tenant_id, endpoint.job_id))
