"""All operations; every surface is a loop over this table."""

from cadenza.operations.analyses import ANALYSES
from cadenza.operations.config import CONFIG
from cadenza.operations.endpoints import ENDPOINTS
from cadenza.operations.jobs import JOBS
from cadenza.operations.keys import KEYS
from cadenza.operations.operation import AnyOperation
from cadenza.operations.rule_trial import RULE_TRIAL
from cadenza.operations.rules import RULES
from cadenza.operations.runs import RUNS
from cadenza.operations.secrets import SECRETS
from cadenza.operations.steering import STEERING
from cadenza.operations.tools import TOOLS
from cadenza.operations.trial import TRIAL
from cadenza.operations.usage import USAGE

OPERATIONS: tuple[AnyOperation, ...] = (
    *JOBS,
    *ENDPOINTS,
    *TOOLS,
    *STEERING,
    *TRIAL,
    *RUNS,
    *RULES,
    *RULE_TRIAL,
    *ANALYSES,
    *CONFIG,
    *SECRETS,
    *USAGE,
    *KEYS,
)
BY_NAME = {operation.name: operation for operation in OPERATIONS}
