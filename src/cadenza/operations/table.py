"""The table of all operations, which every surface loops over."""

from cadenza.operations.access.audit import AUDIT
from cadenza.operations.access.keys import KEYS
from cadenza.operations.access.limits import LIMITS
from cadenza.operations.access.login_links import LOGIN_LINKS
from cadenza.operations.access.secrets import SECRETS
from cadenza.operations.access.usage import USAGE
from cadenza.operations.agents.agent_turns import AGENT_TURNS
from cadenza.operations.agents.messages import MESSAGES
from cadenza.operations.agents.schedule_changes import SCHEDULE_CHANGES
from cadenza.operations.agents.schedules import DELETION, SCHEDULES
from cadenza.operations.agents.user_channels import USER_CHANNELS
from cadenza.operations.agents.users_agents import PEOPLE
from cadenza.operations.config.apply import CONFIG
from cadenza.operations.config.yaml_file import CONFIG_FILE
from cadenza.operations.daily.days import DAILY_DAYS
from cadenza.operations.daily.programmes import PROGRAMMES
from cadenza.operations.daily.statistics import DAILY_FIGURES
from cadenza.operations.daily.users import DAILY_USERS
from cadenza.operations.monitoring.alert_routes import ALERT_ROUTES
from cadenza.operations.monitoring.conditions import CONDITIONS
from cadenza.operations.monitoring.endpoint_statistics import ENDPOINT_STATISTICS
from cadenza.operations.monitoring.heartbeats import HEARTBEATS
from cadenza.operations.monitoring.overview import OVERVIEW
from cadenza.operations.monitoring.slo_alerts import ALERTS, SLO
from cadenza.operations.operation import AnyOperation
from cadenza.operations.planning.analyses import ANALYSES
from cadenza.operations.planning.planners import PLANNERS
from cadenza.operations.planning.rule_trial import RULE_TRIAL
from cadenza.operations.planning.rules import RULES
from cadenza.operations.scheduling.acting_on_runs.open_runs import OPEN_RUNS
from cadenza.operations.scheduling.acting_on_runs.redrive import REDRIVE
from cadenza.operations.scheduling.acting_on_runs.requested_runs import REQUESTED_RUNS
from cadenza.operations.scheduling.calendars.calendars import CALENDARS
from cadenza.operations.scheduling.calendars.preview import CALENDAR_PREVIEWS
from cadenza.operations.scheduling.endpoint_table import ROWS
from cadenza.operations.scheduling.endpoints import ENDPOINTS
from cadenza.operations.scheduling.jobs import JOBS
from cadenza.operations.scheduling.preview import PREVIEW, TRIAL
from cadenza.operations.scheduling.run_feed import RUN_FEED
from cadenza.operations.scheduling.runs import RUNS
from cadenza.operations.scheduling.steering import STEERING
from cadenza.operations.scheduling.timeline import TIMELINE
from cadenza.operations.scheduling.tools import TOOLS
from cadenza.operations.simulations import SIMULATIONS

OPERATIONS: tuple[AnyOperation, ...] = (
    *JOBS,
    *ENDPOINTS,
    *TOOLS,
    *STEERING,
    *PREVIEW,
    *TRIAL,
    *HEARTBEATS,
    *RUNS,
    *OPEN_RUNS,
    *REQUESTED_RUNS,
    *REDRIVE,
    *RUN_FEED,
    *RULES,
    *RULE_TRIAL,
    *ANALYSES,
    *PLANNERS,
    *SCHEDULES,
    *SCHEDULE_CHANGES,
    *AGENT_TURNS,
    *DELETION,
    *PEOPLE,
    *USER_CHANNELS,
    *MESSAGES,
    *DAILY_USERS,
    *DAILY_DAYS,
    *DAILY_FIGURES,
    *PROGRAMMES,
    *CONFIG,
    *CONFIG_FILE,
    *SECRETS,
    *LIMITS,
    *CALENDARS,
    *CALENDAR_PREVIEWS,
    *OVERVIEW,
    *ROWS,
    *TIMELINE,
    *ENDPOINT_STATISTICS,
    *SIMULATIONS,
    *USAGE,
    *SLO,
    *ALERTS,
    *CONDITIONS,
    *ALERT_ROUTES,
    *KEYS,
    *LOGIN_LINKS,
    *AUDIT,
)
BY_NAME = {operation.name: operation for operation in OPERATIONS}
