from cadenza.operations.single_operation import MODULES, find_operation
from cadenza.operations.table import BY_NAME


def test_an_operation_found_alone_is_the_one_of_the_table() -> None:
    assert {name: find_operation(name) for name in MODULES} == {name: BY_NAME[name] for name in MODULES}


def test_every_operation_of_the_table_is_found_by_its_name() -> None:
    assert {name: find_operation(name) for name in BY_NAME} == BY_NAME


def test_an_unknown_operation_is_not_found() -> None:
    assert find_operation("no_such_operation") is None
