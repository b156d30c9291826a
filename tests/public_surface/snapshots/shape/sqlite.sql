-- version 0039

-- index agent_turns_by_age of agent_turns
CREATE INDEX agent_turns_by_age ON agent_turns (expires_at)

-- index agent_turns_of_users of agent_turns
CREATE INDEX agent_turns_of_users ON agent_turns (tenant_id, user_id)

-- index agent_turns_open of agent_turns
CREATE INDEX agent_turns_open ON agent_turns (tenant_id, agent_id, created_at) WHERE state <> 'answered'

-- index alert_conditions_by_age of alert_conditions
CREATE INDEX alert_conditions_by_age ON alert_conditions (since)

-- index alert_conditions_by_endpoint of alert_conditions
CREATE INDEX alert_conditions_by_endpoint ON alert_conditions (tenant_id, endpoint_id, since, id)

-- index alert_conditions_by_job of alert_conditions
CREATE INDEX alert_conditions_by_job ON alert_conditions (tenant_id, job_id, since, id)

-- index alert_conditions_by_state of alert_conditions
CREATE INDEX alert_conditions_by_state ON alert_conditions (tenant_id, state, since, id)

-- index alert_conditions_by_time of alert_conditions
CREATE INDEX alert_conditions_by_time ON alert_conditions (tenant_id, since, id)

-- index alert_conditions_due of alert_conditions
CREATE INDEX alert_conditions_due ON alert_conditions (decide_at) WHERE decide_at IS NOT NULL

-- index alert_conditions_waiting of alert_conditions
CREATE INDEX alert_conditions_waiting ON alert_conditions (tenant_id, suppressed_by) WHERE suppressed_by IS NOT NULL

-- index alert_messages_by_age of alert_messages
CREATE INDEX alert_messages_by_age ON alert_messages (raised_at)

-- index alert_messages_due of alert_messages
CREATE INDEX alert_messages_due ON alert_messages (due_at)

-- index alert_messages_of_condition of alert_messages
CREATE INDEX alert_messages_of_condition ON alert_messages (tenant_id, condition_id)

-- index alerts_by_age of alerts
CREATE INDEX alerts_by_age ON alerts (raised_at)

-- index alerts_due of alerts
CREATE INDEX alerts_due ON alerts (due_at) WHERE due_at IS NOT NULL

-- index analyses_by_age of analyses
CREATE INDEX analyses_by_age ON analyses (began_at)

-- index analyses_of_tenant of analyses
CREATE INDEX analyses_of_tenant ON analyses (tenant_id, began_at, id)

-- index audit_by_age of audit
CREATE INDEX audit_by_age ON audit (at)

-- index audit_by_subject of audit
CREATE INDEX audit_by_subject ON audit (tenant_id, subject_kind, subject_id, at, id)

-- index audit_by_time of audit
CREATE INDEX audit_by_time ON audit (tenant_id, at, id)

-- index calendar_uses_by_user of calendar_uses
CREATE INDEX calendar_uses_by_user ON calendar_uses (tenant_id, kind, used_by_id)

-- index calendars_compiled_until of calendars
CREATE INDEX calendars_compiled_until ON calendars (compiled_until)

-- index conversation_messages_by_age of conversation_messages
CREATE INDEX conversation_messages_by_age ON conversation_messages (at)

-- index daily_gaps_by_day of daily_gaps
CREATE INDEX daily_gaps_by_day ON daily_gaps (tenant_id, programme_id, to_date, from_date)

-- index daily_misses of daily_verdicts
CREATE INDEX daily_misses ON daily_verdicts (tenant_id, programme_id, service_date, due, user_id) WHERE status = 'cutoff_reached'

-- index daily_users_opening of daily_users
CREATE INDEX daily_users_opening ON daily_users (shard, opens_at, tenant_id, programme_id, user_id, next_cutoff, next_date, due)

-- index daily_users_owed of daily_users
CREATE INDEX daily_users_owed ON daily_users (shard, next_date, next_cutoff, tenant_id, programme_id, due)

-- index daily_verdicts_by_day of daily_verdicts
CREATE INDEX daily_verdicts_by_day ON daily_verdicts (tenant_id, programme_id, service_date, user_id)

-- index endpoint_labels_of_endpoint of endpoint_labels
CREATE INDEX endpoint_labels_of_endpoint ON endpoint_labels (tenant_id, endpoint_id)

-- index endpoint_states_due of endpoint_states
CREATE INDEX endpoint_states_due ON endpoint_states (requirement, claimable_at, rank) WHERE claimable_at IS NOT NULL

-- index endpoint_states_due_of_tenant of endpoint_states
CREATE INDEX endpoint_states_due_of_tenant ON endpoint_states (requirement, tenant_id, claimable_at, rank) WHERE claimable_at IS NOT NULL

-- index endpoint_states_failing of endpoint_states
CREATE INDEX endpoint_states_failing ON endpoint_states (tenant_id, endpoint_id) WHERE failure_count > 0

-- index endpoint_states_in_order of endpoint_states
CREATE INDEX endpoint_states_in_order ON endpoint_states (requirement, tenant_id, limited_by, priority, claimable_at, rank) WHERE claimable_at IS NOT NULL AND limited_by IS NOT NULL

-- index endpoint_states_leased of endpoint_states
CREATE INDEX endpoint_states_leased ON endpoint_states (lease_token) WHERE lease_token IS NOT NULL

-- index endpoint_states_limited_in_flight of endpoint_states
CREATE INDEX endpoint_states_limited_in_flight ON endpoint_states (tenant_id, limited_by) WHERE lease_token IS NOT NULL AND limited_by > ''

-- index endpoint_states_requested of endpoint_states
CREATE INDEX endpoint_states_requested ON endpoint_states (tenant_id, endpoint_id) WHERE requested_runs IS NOT NULL

-- index endpoint_states_retired of endpoint_states
CREATE INDEX endpoint_states_retired ON endpoint_states (requirement) WHERE next_source = 'retired'

-- index endpoint_states_to_cancel of endpoint_states
CREATE INDEX endpoint_states_to_cancel ON endpoint_states (lease_token) WHERE cancel_request IS NOT NULL

-- index endpoint_states_to_tidy of endpoint_states
CREATE INDEX endpoint_states_to_tidy ON endpoint_states (tidy_at) WHERE tidy_at IS NOT NULL

-- index endpoints_of_job of endpoints
CREATE INDEX endpoints_of_job ON endpoints (tenant_id, job_id, id)

-- index endpoints_of_user of endpoints
CREATE INDEX endpoints_of_user ON endpoints (tenant_id, user_id, id) WHERE user_id IS NOT NULL

-- index heartbeat_tokens_by_digest of heartbeat_tokens
CREATE UNIQUE INDEX heartbeat_tokens_by_digest ON heartbeat_tokens (digest)

-- index hints_of_endpoint of hints
CREATE INDEX hints_of_endpoint ON hints (tenant_id, endpoint_id, id)

-- index keys_by_maker of keys
CREATE INDEX keys_by_maker ON keys (made_by) WHERE made_by IS NOT NULL

-- index keys_of_tenant of keys
CREATE INDEX keys_of_tenant ON keys (tenant_id, id)

-- index keys_of_users of keys
CREATE INDEX keys_of_users ON keys (tenant_id, expires_at) WHERE user_id IS NOT NULL

-- index looks_due of looks
CREATE INDEX looks_due ON looks (at)

-- index pending_messages_by_age of pending_messages
CREATE INDEX pending_messages_by_age ON pending_messages (created_at)

-- index pending_messages_owed of pending_messages
CREATE INDEX pending_messages_owed ON pending_messages (tenant_id, user_id, seq) WHERE NOT delivered

-- index replies_by_age of replies
CREATE INDEX replies_by_age ON replies (began_at)

-- index rules_of_job of rules
CREATE INDEX rules_of_job ON rules (tenant_id, job_id, id)

-- index runs_of_endpoint of runs
CREATE INDEX runs_of_endpoint ON runs (tenant_id, endpoint_id, id)

-- index runs_of_tenant of runs
CREATE INDEX runs_of_tenant ON runs (tenant_id, id)

-- index sessions_by_end of sessions
CREATE INDEX sessions_by_end ON sessions (expires_at)

-- index sessions_of_key of sessions
CREATE INDEX sessions_of_key ON sessions (key_id)

-- index sqlite_autoindex_agent_turns_1 of agent_turns
-- made by SQLite itself

-- index sqlite_autoindex_agent_usage_1 of agent_usage
-- made by SQLite itself

-- index sqlite_autoindex_agents_1 of agents
-- made by SQLite itself

-- index sqlite_autoindex_alembic_version_1 of alembic_version
-- made by SQLite itself

-- index sqlite_autoindex_alert_conditions_1 of alert_conditions
-- made by SQLite itself

-- index sqlite_autoindex_alert_messages_1 of alert_messages
-- made by SQLite itself

-- index sqlite_autoindex_alert_routes_1 of alert_routes
-- made by SQLite itself

-- index sqlite_autoindex_alerts_1 of alerts
-- made by SQLite itself

-- index sqlite_autoindex_analyses_1 of analyses
-- made by SQLite itself

-- index sqlite_autoindex_audit_1 of audit
-- made by SQLite itself

-- index sqlite_autoindex_calendar_uses_1 of calendar_uses
-- made by SQLite itself

-- index sqlite_autoindex_calendars_1 of calendars
-- made by SQLite itself

-- index sqlite_autoindex_conversation_messages_1 of conversation_messages
-- made by SQLite itself

-- index sqlite_autoindex_conversations_1 of conversations
-- made by SQLite itself

-- index sqlite_autoindex_daily_gaps_1 of daily_gaps
-- made by SQLite itself

-- index sqlite_autoindex_daily_programmes_1 of daily_programmes
-- made by SQLite itself

-- index sqlite_autoindex_daily_tallies_1 of daily_tallies
-- made by SQLite itself

-- index sqlite_autoindex_daily_users_1 of daily_users
-- made by SQLite itself

-- index sqlite_autoindex_daily_verdicts_1 of daily_verdicts
-- made by SQLite itself

-- index sqlite_autoindex_endpoint_labels_1 of endpoint_labels
-- made by SQLite itself

-- index sqlite_autoindex_endpoint_states_1 of endpoint_states
-- made by SQLite itself

-- index sqlite_autoindex_endpoints_1 of endpoints
-- made by SQLite itself

-- index sqlite_autoindex_functions_1 of functions
-- made by SQLite itself

-- index sqlite_autoindex_heartbeat_signals_1 of heartbeat_signals
-- made by SQLite itself

-- index sqlite_autoindex_heartbeat_tokens_1 of heartbeat_tokens
-- made by SQLite itself

-- index sqlite_autoindex_jobs_1 of jobs
-- made by SQLite itself

-- index sqlite_autoindex_keys_1 of keys
-- made by SQLite itself

-- index sqlite_autoindex_leases_1 of leases
-- made by SQLite itself

-- index sqlite_autoindex_limit_starts_1 of limit_starts
-- made by SQLite itself

-- index sqlite_autoindex_locks_1 of locks
-- made by SQLite itself

-- index sqlite_autoindex_looks_1 of looks
-- made by SQLite itself

-- index sqlite_autoindex_moves_1 of moves
-- made by SQLite itself

-- index sqlite_autoindex_notes_1 of notes
-- made by SQLite itself

-- index sqlite_autoindex_pending_messages_1 of pending_messages
-- made by SQLite itself

-- index sqlite_autoindex_rates_1 of rates
-- made by SQLite itself

-- index sqlite_autoindex_replies_1 of replies
-- made by SQLite itself

-- index sqlite_autoindex_rules_1 of rules
-- made by SQLite itself

-- index sqlite_autoindex_run_limits_1 of run_limits
-- made by SQLite itself

-- index sqlite_autoindex_secrets_1 of secrets
-- made by SQLite itself

-- index sqlite_autoindex_sessions_1 of sessions
-- made by SQLite itself

-- index sqlite_autoindex_slo_standings_1 of slo_standings
-- made by SQLite itself

-- index sqlite_autoindex_tenants_1 of tenants
-- made by SQLite itself

-- index sqlite_autoindex_usage_1 of usage
-- made by SQLite itself

-- index sqlite_autoindex_user_channels_1 of user_channels
-- made by SQLite itself

-- index sqlite_autoindex_users_1 of users
-- made by SQLite itself

-- index user_channels_due of user_channels
CREATE INDEX user_channels_due ON user_channels (due_at) WHERE due_at IS NOT NULL

-- table agent_turns of agent_turns
CREATE TABLE agent_turns (
    id TEXT NOT NULL, 
    tenant_id TEXT NOT NULL, 
    user_id TEXT NOT NULL, 
    agent_id TEXT NOT NULL, 
    payload TEXT, 
    created_at BIGINT NOT NULL, 
    expires_at BIGINT NOT NULL, 
    state TEXT NOT NULL, 
    token TEXT, 
    earlier_tokens TEXT NOT NULL, 
    lease_until BIGINT, 
    attempts INTEGER NOT NULL, 
    calls TEXT NOT NULL, 
    answer TEXT, 
    refused_answers INTEGER NOT NULL, 
    PRIMARY KEY (id), 
    FOREIGN KEY(tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE, 
    FOREIGN KEY(tenant_id, agent_id) REFERENCES agents (tenant_id, id) ON DELETE CASCADE
)

-- table agent_usage of agent_usage
CREATE TABLE "agent_usage" (
    tenant_id TEXT NOT NULL, 
    day TEXT NOT NULL, 
    user_id TEXT NOT NULL, 
    fires INTEGER NOT NULL, 
    tokens BIGINT NOT NULL, 
    PRIMARY KEY (tenant_id, day, user_id), 
    CONSTRAINT agent_usage_users_fkey FOREIGN KEY(tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
)

-- table agents of agents
CREATE TABLE agents (
    tenant_id TEXT NOT NULL, 
    id TEXT NOT NULL, 
    name TEXT NOT NULL, 
    instructions TEXT NOT NULL, 
    model TEXT, 
    created_at BIGINT, runtime TEXT DEFAULT 'model' NOT NULL, target TEXT, 
    PRIMARY KEY (tenant_id, id)
)

-- table alembic_version of alembic_version
CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL, 
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
)

-- table alert_conditions of alert_conditions
CREATE TABLE alert_conditions (
    tenant_id TEXT NOT NULL, 
    id TEXT NOT NULL, 
    kind TEXT NOT NULL, 
    state TEXT NOT NULL, 
    since BIGINT NOT NULL, 
    job_id TEXT, 
    endpoint_id TEXT, 
    suppressed_by TEXT, 
    decide_at BIGINT, 
    details TEXT NOT NULL, 
    PRIMARY KEY (tenant_id, id)
)

-- table alert_messages of alert_messages
CREATE TABLE alert_messages (
    "key" TEXT NOT NULL, 
    tenant_id TEXT NOT NULL, 
    route_id TEXT NOT NULL, 
    condition_id TEXT, 
    alert_key TEXT NOT NULL, 
    kind TEXT NOT NULL, 
    state TEXT NOT NULL, 
    text TEXT NOT NULL, 
    raised_at BIGINT NOT NULL, 
    facts TEXT NOT NULL, 
    due_at BIGINT NOT NULL, 
    attempts INTEGER NOT NULL, 
    PRIMARY KEY ("key")
)

-- table alert_routes of alert_routes
CREATE TABLE alert_routes (
    tenant_id TEXT NOT NULL, 
    id TEXT NOT NULL, 
    name TEXT NOT NULL, 
    enabled BOOLEAN NOT NULL, 
    definition TEXT NOT NULL, 
    created_at BIGINT, 
    PRIMARY KEY (tenant_id, id)
)

-- table alerts of alerts
CREATE TABLE alerts (
    "key" TEXT NOT NULL, 
    kind TEXT NOT NULL, 
    state TEXT NOT NULL, 
    text TEXT NOT NULL, 
    raised_at BIGINT NOT NULL, 
    facts TEXT NOT NULL, 
    due_at BIGINT, 
    attempts INTEGER NOT NULL, 
    PRIMARY KEY ("key")
)

-- table analyses of analyses
CREATE TABLE "analyses" (
    tenant_id TEXT NOT NULL, 
    endpoint_id TEXT NOT NULL, 
    id TEXT NOT NULL, 
    job_id TEXT NOT NULL, 
    planner TEXT NOT NULL, 
    "trigger" TEXT NOT NULL, 
    began_at BIGINT NOT NULL, 
    duration_ms BIGINT NOT NULL, 
    reasoning TEXT NOT NULL, 
    calls TEXT, 
    input_tokens BIGINT NOT NULL, 
    output_tokens BIGINT NOT NULL, 
    look_again_at BIGINT, 
    shadow BOOLEAN NOT NULL, 
    error TEXT, 
    PRIMARY KEY (tenant_id, endpoint_id, id), 
    CONSTRAINT analyses_endpoints_fkey FOREIGN KEY(tenant_id, endpoint_id) REFERENCES endpoints (tenant_id, id) ON DELETE CASCADE
)

-- table audit of audit
CREATE TABLE audit (
    tenant_id TEXT NOT NULL, 
    id TEXT NOT NULL, 
    at BIGINT NOT NULL, 
    who TEXT NOT NULL, 
    name TEXT, 
    surface TEXT NOT NULL, 
    operation TEXT NOT NULL, 
    subject_kind TEXT NOT NULL, 
    subject_id TEXT, 
    reason TEXT, 
    outcome TEXT NOT NULL, 
    changes TEXT NOT NULL, 
    definition TEXT, 
    PRIMARY KEY (tenant_id, id)
)

-- table calendar_uses of calendar_uses
CREATE TABLE calendar_uses (
    tenant_id TEXT NOT NULL, 
    calendar_id TEXT NOT NULL, 
    kind TEXT NOT NULL, 
    used_by_id TEXT NOT NULL, 
    PRIMARY KEY (tenant_id, calendar_id, kind, used_by_id)
)

-- table calendars of calendars
CREATE TABLE calendars (
    tenant_id TEXT NOT NULL, 
    id TEXT NOT NULL, 
    definition TEXT NOT NULL, 
    compiled TEXT NOT NULL, 
    compiled_until BIGINT NOT NULL, 
    created_at BIGINT, 
    PRIMARY KEY (tenant_id, id)
)

-- table conversation_messages of conversation_messages
CREATE TABLE "conversation_messages" (
    tenant_id TEXT NOT NULL, 
    user_id TEXT NOT NULL, 
    agent_id TEXT NOT NULL, 
    number BIGINT NOT NULL, 
    id TEXT NOT NULL, 
    role TEXT NOT NULL, 
    text TEXT NOT NULL, 
    at BIGINT NOT NULL, 
    turn_at BIGINT NOT NULL, 
    origin TEXT NOT NULL, 
    parts TEXT, 
    PRIMARY KEY (tenant_id, user_id, agent_id, number), 
    CONSTRAINT conversation_messages_conversations_fkey FOREIGN KEY(tenant_id, user_id, agent_id) REFERENCES conversations (tenant_id, user_id, agent_id) ON DELETE CASCADE
)

-- table conversations of conversations
CREATE TABLE "conversations" (
    tenant_id TEXT NOT NULL, 
    user_id TEXT NOT NULL, 
    agent_id TEXT NOT NULL, 
    last_number BIGINT DEFAULT 0 NOT NULL, 
    turn_token TEXT, 
    turn_until BIGINT, 
    PRIMARY KEY (tenant_id, user_id, agent_id), 
    CONSTRAINT conversations_users_fkey FOREIGN KEY(tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE, 
    CONSTRAINT conversations_agents_fkey FOREIGN KEY(tenant_id, agent_id) REFERENCES agents (tenant_id, id) ON DELETE CASCADE
)

-- table daily_gaps of daily_gaps
CREATE TABLE "daily_gaps" (
    tenant_id TEXT NOT NULL, 
    user_id TEXT NOT NULL, 
    from_date TEXT NOT NULL, 
    to_date TEXT NOT NULL, 
    programme_id TEXT DEFAULT 'daily' NOT NULL, 
    noticed_at BIGINT NOT NULL, 
    cause TEXT NOT NULL, 
    PRIMARY KEY (tenant_id, programme_id, user_id, from_date)
)

-- table daily_programmes of daily_programmes
CREATE TABLE daily_programmes (
    tenant_id TEXT NOT NULL, 
    id TEXT NOT NULL, 
    definition TEXT NOT NULL, 
    created_at BIGINT, 
    PRIMARY KEY (tenant_id, id)
)

-- table daily_tallies of daily_tallies
CREATE TABLE "daily_tallies" (
    tenant_id TEXT NOT NULL, 
    service_date TEXT NOT NULL, 
    programme_id TEXT DEFAULT 'daily' NOT NULL, 
    due INTEGER NOT NULL, 
    success INTEGER NOT NULL, 
    cutoff_reached INTEGER NOT NULL, 
    late INTEGER NOT NULL, 
    PRIMARY KEY (tenant_id, programme_id, service_date, due)
)

-- table daily_users of daily_users
CREATE TABLE "daily_users" (
    tenant_id TEXT NOT NULL, 
    user_id TEXT NOT NULL, 
    programme_id TEXT DEFAULT 'daily' NOT NULL, 
    shard INTEGER NOT NULL, 
    next_cutoff BIGINT NOT NULL, 
    changes TEXT, 
    last_date TEXT, 
    status TEXT, 
    last_run_at BIGINT, 
    added_at BIGINT, 
    timezone TEXT DEFAULT 'UTC' NOT NULL, 
    next_date TEXT NOT NULL, 
    due INTEGER NOT NULL, 
    opens_at BIGINT NOT NULL, 
    previous_cutoff BIGINT, 
    PRIMARY KEY (tenant_id, programme_id, user_id)
)

-- table daily_verdicts of daily_verdicts
CREATE TABLE "daily_verdicts" (
    tenant_id TEXT NOT NULL, 
    user_id TEXT NOT NULL, 
    service_date TEXT NOT NULL, 
    programme_id TEXT DEFAULT 'daily' NOT NULL, 
    status TEXT NOT NULL, 
    due INTEGER NOT NULL, 
    decided_at BIGINT NOT NULL, 
    late BOOLEAN NOT NULL, 
    cause TEXT, 
    PRIMARY KEY (tenant_id, programme_id, user_id, service_date)
)

-- table endpoint_labels of endpoint_labels
CREATE TABLE "endpoint_labels" (
    tenant_id TEXT NOT NULL, 
    name TEXT NOT NULL, 
    value TEXT NOT NULL, 
    endpoint_id TEXT NOT NULL, 
    PRIMARY KEY (tenant_id, name, value, endpoint_id), 
    CONSTRAINT endpoint_labels_endpoints_fkey FOREIGN KEY(tenant_id, endpoint_id) REFERENCES endpoints (tenant_id, id) ON DELETE CASCADE
)

-- table endpoint_states of endpoint_states
CREATE TABLE endpoint_states (
    tenant_id TEXT NOT NULL, 
    endpoint_id TEXT NOT NULL, 
    rank BIGINT NOT NULL, 
    version BIGINT NOT NULL, 
    claimable_at BIGINT, 
    tidy_at BIGINT, 
    next_run_at BIGINT, 
    next_source TEXT NOT NULL, 
    last_run_at BIGINT, 
    skipped_at BIGINT, 
    paused_until BIGINT, 
    quota_opens_at BIGINT, 
    missed_slots INTEGER NOT NULL, 
    failure_count INTEGER NOT NULL, 
    abandoned_count INTEGER NOT NULL, 
    open_slot_at BIGINT, 
    open_slot_attempts INTEGER, 
    interval_hint_ms BIGINT, 
    interval_hint_expires_at BIGINT, 
    interval_hint_reason TEXT, 
    one_shot_at BIGINT, 
    one_shot_expires_at BIGINT, 
    one_shot_reason TEXT, 
    pause_reason TEXT, 
    enabled BOOLEAN NOT NULL, 
    archived BOOLEAN NOT NULL, 
    job_active BOOLEAN NOT NULL, 
    lease_token TEXT, 
    lease_until BIGINT, 
    run_id TEXT, 
    run_slot BIGINT, 
    run_due_at BIGINT, 
    run_attempt INTEGER, 
    run_source TEXT, 
    run_claimed_at BIGINT, 
    run_started_at BIGINT, requirement TEXT DEFAULT '' NOT NULL, interval_hint_origin TEXT, one_shot_origin TEXT, pause_origin TEXT, abandoned_alone_count INTEGER, requested_runs TEXT, cancel_request TEXT, request_slot_at BIGINT, request_attempt INTEGER, request_source TEXT, limited_by TEXT, priority INTEGER DEFAULT 0 NOT NULL, 
    PRIMARY KEY (tenant_id, endpoint_id)
)

-- table endpoints of endpoints
CREATE TABLE "endpoints" (
    tenant_id TEXT NOT NULL, 
    id TEXT NOT NULL, 
    job_id TEXT NOT NULL, 
    name TEXT NOT NULL, 
    description TEXT, 
    definition TEXT NOT NULL, 
    user_id TEXT GENERATED ALWAYS AS (json_extract(definition, '$.target.user_id')) VIRTUAL, 
    agent_id TEXT GENERATED ALWAYS AS (json_extract(definition, '$.target.agent_id')) VIRTUAL, 
    PRIMARY KEY (tenant_id, id), 
    CONSTRAINT endpoints_users_fkey FOREIGN KEY(tenant_id, user_id) REFERENCES users (tenant_id, id), 
    CONSTRAINT endpoints_agents_fkey FOREIGN KEY(tenant_id, agent_id) REFERENCES agents (tenant_id, id)
)

-- table functions of functions
CREATE TABLE functions (
    name TEXT NOT NULL, 
    declared_at BIGINT NOT NULL, 
    PRIMARY KEY (name)
)

-- table heartbeat_signals of heartbeat_signals
CREATE TABLE heartbeat_signals (
    tenant_id TEXT NOT NULL, 
    endpoint_id TEXT NOT NULL, 
    id TEXT NOT NULL, 
    kind TEXT NOT NULL, 
    at BIGINT NOT NULL, 
    body TEXT, 
    expected_at BIGINT, 
    slot BIGINT, 
    PRIMARY KEY (tenant_id, endpoint_id, id), 
    FOREIGN KEY(tenant_id, endpoint_id) REFERENCES endpoints (tenant_id, id) ON DELETE CASCADE
)

-- table heartbeat_tokens of heartbeat_tokens
CREATE TABLE heartbeat_tokens (
    tenant_id TEXT NOT NULL, 
    endpoint_id TEXT NOT NULL, 
    digest BLOB NOT NULL, 
    PRIMARY KEY (tenant_id, endpoint_id), 
    FOREIGN KEY(tenant_id, endpoint_id) REFERENCES endpoints (tenant_id, id) ON DELETE CASCADE
)

-- table hints of hints
CREATE TABLE "hints" (
    id INTEGER NOT NULL, 
    tenant_id TEXT NOT NULL, 
    endpoint_id TEXT NOT NULL, 
    kind TEXT NOT NULL, 
    written_at BIGINT NOT NULL, 
    origin TEXT NOT NULL, 
    reason TEXT, 
    expires_at BIGINT, 
    interval_ms BIGINT, 
    at BIGINT, not_applied TEXT, 
    PRIMARY KEY (id), 
    CONSTRAINT hints_endpoints_fkey FOREIGN KEY(tenant_id, endpoint_id) REFERENCES endpoints (tenant_id, id) ON DELETE CASCADE
)

-- table jobs of jobs
CREATE TABLE jobs (
    tenant_id TEXT NOT NULL, 
    id TEXT NOT NULL, 
    name TEXT NOT NULL, 
    active BOOLEAN NOT NULL, description TEXT, applied BOOLEAN DEFAULT 0 NOT NULL, created_at BIGINT, metadata TEXT, pause_origin TEXT, calendar_rules TEXT, 
    PRIMARY KEY (tenant_id, id)
)

-- table keys of keys
CREATE TABLE "keys" (
    id TEXT NOT NULL, 
    tenant_id TEXT NOT NULL, 
    name TEXT NOT NULL, 
    digest BLOB NOT NULL, 
    scopes TEXT NOT NULL, 
    created_at BIGINT NOT NULL, 
    expires_at BIGINT, 
    user_id TEXT, made_by TEXT, 
    PRIMARY KEY (id), 
    CONSTRAINT keys_users_fkey FOREIGN KEY(tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
)

-- table leases of leases
CREATE TABLE leases (
    token TEXT NOT NULL, 
    until BIGINT NOT NULL, holder TEXT, in_flight INTEGER, suspects INTEGER, 
    PRIMARY KEY (token)
)

-- table limit_starts of limit_starts
CREATE TABLE limit_starts (
    tenant_id TEXT NOT NULL, 
    kind TEXT NOT NULL, 
    name TEXT NOT NULL, 
    id TEXT NOT NULL, 
    at BIGINT NOT NULL, 
    runs INTEGER NOT NULL, 
    PRIMARY KEY (tenant_id, kind, name, id), 
    FOREIGN KEY(tenant_id, kind, name) REFERENCES run_limits (tenant_id, kind, name) ON DELETE CASCADE
)

-- table locks of locks
CREATE TABLE locks (
    name TEXT NOT NULL, 
    holder TEXT, 
    until BIGINT, 
    note INTEGER, 
    PRIMARY KEY (name)
)

-- table looks of looks
CREATE TABLE "looks" (
    tenant_id TEXT NOT NULL, 
    endpoint_id TEXT NOT NULL, 
    planner TEXT NOT NULL, 
    at BIGINT NOT NULL, 
    PRIMARY KEY (tenant_id, endpoint_id, planner), 
    CONSTRAINT looks_endpoints_fkey FOREIGN KEY(tenant_id, endpoint_id) REFERENCES endpoints (tenant_id, id) ON DELETE CASCADE
)

-- table moves of moves
CREATE TABLE moves (
    id TEXT NOT NULL, 
    tenant_id TEXT NOT NULL, 
    side TEXT NOT NULL, 
    phase TEXT NOT NULL, 
    other TEXT NOT NULL, 
    began_at BIGINT NOT NULL, 
    changed_at BIGINT NOT NULL, 
    progress TEXT NOT NULL, 
    PRIMARY KEY (id)
)

-- table notes of notes
CREATE TABLE notes (
    planner TEXT NOT NULL, 
    tenant_id TEXT NOT NULL, 
    endpoint_id TEXT NOT NULL, 
    note TEXT NOT NULL, 
    taken_at BIGINT NOT NULL, 
    PRIMARY KEY (planner, tenant_id, endpoint_id)
)

-- table pending_messages of pending_messages
CREATE TABLE "pending_messages" (
    tenant_id TEXT NOT NULL, 
    user_id TEXT NOT NULL, 
    seq BIGINT NOT NULL, 
    id TEXT NOT NULL, 
    agent_id TEXT NOT NULL, 
    schedule_id TEXT, 
    firing TEXT, 
    message TEXT NOT NULL, 
    created_at BIGINT NOT NULL, 
    delivered BOOLEAN NOT NULL, channel TEXT, 
    PRIMARY KEY (tenant_id, user_id, seq), 
    CONSTRAINT pending_messages_users_fkey FOREIGN KEY(tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
)

-- table rates of rates
CREATE TABLE rates (
    window BIGINT NOT NULL, 
    subject TEXT NOT NULL, 
    drawn BIGINT NOT NULL, 
    PRIMARY KEY (window, subject)
)

-- table replies of replies
CREATE TABLE replies (
    tenant_id TEXT NOT NULL, 
    "key" TEXT NOT NULL, 
    fingerprint TEXT NOT NULL, 
    began_at BIGINT NOT NULL, 
    status INTEGER, 
    body BLOB NOT NULL, 
    PRIMARY KEY (tenant_id, "key")
)

-- table rules of rules
CREATE TABLE "rules" (
    tenant_id TEXT NOT NULL, 
    id TEXT NOT NULL, 
    job_id TEXT NOT NULL, 
    endpoint_id TEXT, 
    name TEXT NOT NULL, 
    definition TEXT NOT NULL, 
    created_at BIGINT, 
    PRIMARY KEY (tenant_id, id), 
    CONSTRAINT rules_jobs_fkey FOREIGN KEY(tenant_id, job_id) REFERENCES jobs (tenant_id, id) ON DELETE CASCADE
)

-- table run_limits of run_limits
CREATE TABLE run_limits (
    tenant_id TEXT NOT NULL, 
    kind TEXT NOT NULL, 
    name TEXT NOT NULL, 
    max_in_flight INTEGER, 
    max_per_minute INTEGER, 
    created_at BIGINT, 
    held_since BIGINT, 
    PRIMARY KEY (tenant_id, kind, name)
)

-- table runs of runs
CREATE TABLE runs (
    tenant_id TEXT NOT NULL, 
    id TEXT NOT NULL, 
    endpoint_id TEXT NOT NULL, 
    job_id TEXT NOT NULL, 
    slot BIGINT NOT NULL, 
    due_at BIGINT NOT NULL, 
    attempt INTEGER NOT NULL, 
    source TEXT NOT NULL, 
    claimed_at BIGINT NOT NULL, 
    started_at BIGINT, 
    finished_at BIGINT NOT NULL, 
    status TEXT NOT NULL, 
    duration_ms BIGINT NOT NULL, 
    late_ms BIGINT NOT NULL, 
    coalesced INTEGER NOT NULL, 
    verdict BOOLEAN NOT NULL, 
    error TEXT, 
    reason TEXT, 
    response TEXT
, txid BIGINT, traceback TEXT)

-- table secrets of secrets
CREATE TABLE secrets (
    tenant_id TEXT NOT NULL, 
    name TEXT NOT NULL, 
    sealed TEXT NOT NULL, 
    created_at BIGINT NOT NULL, 
    updated_at BIGINT NOT NULL, 
    PRIMARY KEY (tenant_id, name)
)

-- table sessions of sessions
CREATE TABLE "sessions" (
    digest BLOB NOT NULL, 
    kind TEXT NOT NULL, 
    tenant_id TEXT NOT NULL, 
    scopes TEXT NOT NULL, 
    created_at BIGINT NOT NULL, 
    expires_at BIGINT NOT NULL, 
    key_id TEXT, 
    PRIMARY KEY (digest), 
    CONSTRAINT sessions_keys_fkey FOREIGN KEY(key_id) REFERENCES keys (id) ON DELETE CASCADE
)

-- table slo_standings of slo_standings
CREATE TABLE slo_standings (
    process TEXT NOT NULL, 
    scheduler TEXT NOT NULL, 
    slo TEXT NOT NULL, 
    evaluated_at BIGINT NOT NULL, 
    window_minutes INTEGER NOT NULL, 
    breached_since BIGINT, 
    state TEXT NOT NULL, 
    PRIMARY KEY (process, scheduler, slo)
)

-- table tenants of tenants
CREATE TABLE tenants (
    id TEXT NOT NULL, 
    name TEXT NOT NULL, limits TEXT, 
    PRIMARY KEY (id)
)

-- table usage of usage
CREATE TABLE usage (
    tenant_id TEXT NOT NULL, 
    month TEXT NOT NULL, 
    shard INTEGER NOT NULL, 
    runs BIGINT NOT NULL, 
    planner_tokens BIGINT NOT NULL, 
    PRIMARY KEY (tenant_id, month, shard)
)

-- table user_channels of user_channels
CREATE TABLE user_channels (
    tenant_id TEXT NOT NULL, 
    user_id TEXT NOT NULL, 
    definition TEXT NOT NULL, 
    due_at BIGINT, 
    claim_token TEXT, 
    claim_until BIGINT, 
    done_seq BIGINT NOT NULL, 
    PRIMARY KEY (tenant_id, user_id), 
    FOREIGN KEY(tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
)

-- table users of users
CREATE TABLE users (
    tenant_id TEXT NOT NULL, 
    id TEXT NOT NULL, 
    timezone TEXT, 
    created_at BIGINT, 
    context_reset_at BIGINT, 
    last_seq BIGINT DEFAULT 0 NOT NULL, sent_seq BIGINT DEFAULT 0 NOT NULL, expired_messages INTEGER DEFAULT 0 NOT NULL, 
    PRIMARY KEY (tenant_id, id)
)

-- trigger daily_verdicts_added of daily_verdicts
CREATE TRIGGER daily_verdicts_added AFTER INSERT ON daily_verdicts BEGIN
    INSERT INTO daily_tallies (tenant_id, programme_id, service_date, due, success, cutoff_reached, late) VALUES (
        new.tenant_id, new.programme_id, new.service_date, new.due,
        new.status = 'success', new.status <> 'success', new.late
    ) ON CONFLICT DO UPDATE SET success = success + excluded.success, cutoff_reached = cutoff_reached + excluded.cutoff_reached, late = late + excluded.late;
END

-- trigger daily_verdicts_removed of daily_verdicts
CREATE TRIGGER daily_verdicts_removed AFTER DELETE ON daily_verdicts BEGIN
    UPDATE daily_tallies SET success = success - (old.status = 'success'),
        cutoff_reached = cutoff_reached - (old.status <> 'success'), late = late - old.late
    WHERE tenant_id = old.tenant_id AND programme_id = old.programme_id AND service_date = old.service_date AND due = old.due;
    DELETE FROM daily_tallies WHERE tenant_id = old.tenant_id AND programme_id = old.programme_id AND service_date = old.service_date AND due = old.due AND success + cutoff_reached = 0;
END

-- view schedules of schedules
CREATE VIEW schedules AS SELECT e.tenant_id, e.id, e.user_id AS user_id, e.agent_id AS agent_id, e.name AS name, json_extract(e.definition, '$.target.prompt') AS prompt, CASE json_extract(e.definition, '$.baseline.kind') WHEN 'once' THEN 'one-shot' ELSE 'recurring' END AS schedule_type, replace(json_extract(e.definition, '$.baseline.at'), '+00:00', 'Z') AS run_at, json_extract(e.definition, '$.baseline.expression') AS cron_expression, COALESCE(json_extract(e.definition, '$.baseline.timezone'), 'UTC') AS timezone, strftime('%Y-%m-%dT%H:%M:%S', s.next_run_at / 1000000, 'unixepoch') || CASE printf('.%06d', s.next_run_at % 1000000) WHEN '.000000' THEN '' ELSE printf('.%06d', s.next_run_at % 1000000) END || 'Z' AS next_run_at, CASE WHEN s.enabled AND s.next_run_at IS NOT NULL THEN 1 ELSE 0 END AS enabled, replace(json_extract(e.definition, '$.created_at'), '+00:00', 'Z') AS created_at FROM endpoints e JOIN endpoint_states s ON s.tenant_id = e.tenant_id AND s.endpoint_id = e.id WHERE e.user_id IS NOT NULL AND NOT s.archived
