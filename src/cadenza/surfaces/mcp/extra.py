"""The extra that MCP needs."""

EXTRA = "MCP needs the extra: install cadenza[mcp]."


def missing_extra(problem: Exception) -> bool:
    """Is it the library itself that is not there?"""
    return isinstance(problem, ModuleNotFoundError) and (problem.name or "").partition(".")[0] == "mcp"
