"""Statements about figures that both databases share."""

_NEWEST = "planner, began_at, input_tokens, output_tokens, shadow, error, endpoint_id"
_SUMS = (
    "count(*)",
    "count(error)",
    "count(*) FILTER (WHERE shadow)",
    "sum(input_tokens)",
    "sum(output_tokens)",
    "max(began_at)",
)


def sat_together(key: str, *, newest: str, most: str) -> str:
    """The statement that takes sittings together by an expression, among those that a condition names."""
    return (
        f"SELECT {key}, planner, {', '.join(_SUMS)} FROM (SELECT {_NEWEST} FROM analyses WHERE {newest})"
        " AS newest GROUP BY 1, 2"
        f" ORDER BY sum(input_tokens) + sum(output_tokens) DESC, count(*) DESC, 1, 2 LIMIT {most}"
    )
