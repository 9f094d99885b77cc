"""Blazar's requirement expressions."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warre_blazar.domain import requirements

_COMPARISONS = st.tuples(
    st.sampled_from(sorted(requirements.OPERATORS)),
    st.text(min_size=1).map(lambda name: "$" + name),
    st.text(),
).map(list)


def nested(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(children, min_size=1, max_size=3).map(lambda parts: ["and", *parts])


@given(st.recursive(_COMPARISONS, nested, max_leaves=5))
def test_every_expression_of_the_grammar_parses(expression: list[Any]) -> None:
    def leaves(e: list[Any]) -> list[tuple[str, str, str]]:
        if e[0] == "and":
            return [leaf for part in e[1:] for leaf in leaves(part)]
        return [(e[1][1:], e[0], e[2])]

    assert requirements.parse(json.dumps(expression)) == leaves(expression)


@given(st.text() | st.recursive(st.none() | st.text() | st.integers(), st.lists).map(json.dumps))
def test_anything_else_is_refused_with_what_was_expected(text: str) -> None:
    try:
        requirements.parse(text)
    except ValueError as error:
        assert "expected" in str(error)


@pytest.mark.parametrize("text", [None, "", "  ", "[]"])
def test_nothing_is_required(text: str | None) -> None:
    assert requirements.parse(text) == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("nope", id="no JSON"),
        pytest.param('["=="]', id="no operands"),
        pytest.param('["and"]', id="and of nothing"),
        pytest.param('["==", "gpu", "x"]', id="no dollar"),
        pytest.param('["==", "$", "x"]', id="no name"),
        pytest.param('["==", "$gpu", 5]', id="a number"),
        pytest.param('["or", ["==", "$gpu", "x"]]', id="or"),
        pytest.param('{"==": 1}', id="an object"),
        pytest.param("[" * 3000 + "]" * 3000, id="too deep for JSON"),
        pytest.param('["and", ' * 20 + '["==", "$a", "b"]' + "]" * 20, id="too deep"),
    ],
)
def test_malformed(text: str) -> None:
    with pytest.raises(ValueError, match="expected a JSON expression"):
        requirements.parse(text)


@pytest.mark.parametrize(
    ("have", "op", "want", "holds"),
    [
        pytest.param("a100", "==", "a100", True, id="same text"),
        pytest.param("a100", "=", "a100", True, id="single sign"),
        pytest.param("A100", "==", "a100", False, id="case counts"),
        pytest.param("a100", "!=", "h100", True, id="other text"),
        pytest.param("16", ">=", "8", True, id="numbers in text compare as numbers"),
        pytest.param(16, ">", "8", True, id="a column's number"),
        pytest.param("1.0", "==", "1", True, id="numbers are equal however written"),
        pytest.param("b", ">", "a", True, id="text by letter"),
        pytest.param("16", ">", "a", False, id="text and number compare as text"),
    ],
)
def test_comparison(have: Any, op: str, want: str, holds: bool) -> None:
    assert requirements.satisfied([("x", op, want)], {"x": have}) is holds


@pytest.mark.parametrize("op", sorted(requirements.OPERATORS))
def test_a_property_the_host_lacks_satisfies_nothing(op: str) -> None:
    assert not requirements.satisfied([("gpu", op, "a100")], {})
