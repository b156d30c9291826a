"""All operations; every surface is a loop over this table."""

from cadenza.operations.alerts import ALERTS
from cadenza.operations.analyses import ANALYSES
from cadenza.operations.config import CONFIG
from cadenza.operations.daily import DAILY_USERS
from cadenza.operations.daily_days import DAILY_DAYS
from cadenza.operations.daily_figures import DAILY_FIGURES
from cadenza.operations.endpoints import ENDPOINTS
from cadenza.operations.jobs import JOBS
from cadenza.operations.keys import KEYS
from cadenza.operations.messages import MESSAGES
from cadenza.operations.operation import AnyOperation
from cadenza.operations.overview import OVERVIEW
from cadenza.operations.people import PEOPLE
from cadenza.operations.planners import PLANNERS
from cadenza.operations.preview import PREVIEW
from cadenza.operations.rows import ROWS
from cadenza.operations.rule_trial import RULE_TRIAL
from cadenza.operations.rules import RULES
from cadenza.operations.runs import RUNS
from cadenza.operations.schedules import SCHEDULES
from cadenza.operations.secrets import SECRETS
from cadenza.operations.simulations import SIMULATIONS
from cadenza.operations.slo import SLO
from cadenza.operations.steering import STEERING
from cadenza.operations.timeline import TIMELINE
from cadenza.operations.tools import TOOLS
from cadenza.operations.trial import TRIAL
from cadenza.operations.usage import USAGE

OPERATIONS: tuple[AnyOperation, ...] = (
    *JOBS,
    *ENDPOINTS,
    *TOOLS,
    *STEERING,
    *PREVIEW,
    *TRIAL,
    *RUNS,
    *RULES,
    *RULE_TRIAL,
    *ANALYSES,
    *PLANNERS,
    *SCHEDULES,
    *PEOPLE,
    *MESSAGES,
    *DAILY_USERS,
    *DAILY_DAYS,
    *DAILY_FIGURES,
    *CONFIG,
    *SECRETS,
    *OVERVIEW,
    *ROWS,
    *TIMELINE,
    *SIMULATIONS,
    *USAGE,
    *SLO,
    *ALERTS,
    *KEYS,
)
BY_NAME = {operation.name: operation for operation in OPERATIONS}
