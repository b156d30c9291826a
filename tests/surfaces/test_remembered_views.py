"""What is remembered of a value: for that very object, and for so many."""

from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.operations.documented_models import remembered_by_identity
from cadenza.operations.scheduling.endpoint_view import EndpointView, endpoint_view


@remembered_by_identity(most=2)
def as_list(text: str) -> list[str]:
    return list(text)


def test_the_same_object_gets_the_same_result() -> None:
    text = "ab"
    assert as_list(text) is as_list(text)


def test_an_equal_object_gets_a_result_of_its_own() -> None:
    one, other = ["ab", "ab".upper().lower()]
    assert as_list(one) == as_list(other)
    assert as_list(one) is not as_list(other)


def test_with_so_many_values_all_are_forgotten() -> None:
    texts = ["ab", "cd", "ef"]
    first = as_list(texts[0])
    for text in texts[1:]:
        as_list(text)
    assert as_list(texts[0]) is not first


def test_a_remembered_value_is_held_so_that_its_id_is_not_reused() -> None:
    made = [as_list(f"number {number}") for number in range(100)]
    assert ["".join(one) for one in made] == [f"number {number}" for number in range(100)]


def test_a_changed_endpoint_has_another_view_and_other_json() -> None:
    endpoint = Endpoint(id="endpoint", name="before")
    first = endpoint_view(endpoint)
    assert endpoint_view(endpoint) is first
    assert first.to_json() is first.to_json()
    changed = endpoint_view(evolve(endpoint, name="after"))
    assert EndpointView.model_validate_json(changed.to_json()).name == "after"
