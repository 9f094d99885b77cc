"""Requirement expressions: their grammar, and the hosts that satisfy them."""

import json
import operator
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warre_blazar.domain.hosts import host_properties

SIGNS = ["==", "=", "!=", ">=", "<=", ">", "<"]

comparisons = st.tuples(st.text(min_size=1), st.sampled_from(SIGNS), st.text())
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(SIGNS),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=3).map(lambda parts: ["and", *parts])
        | st.dictionaries(st.text(), inner, max_size=3)
    ),
    max_leaves=12,
)
properties = st.dictionaries(
    st.text(), st.none() | st.booleans() | st.integers() | st.floats() | st.text()
)
# Pairs of an expression and the comparisons that it stands for.
expressions = st.recursive(
    comparisons.map(lambda c: ([c[1], f"${c[0]}", c[2]], [c])),
    lambda inner: st.lists(inner, min_size=1, max_size=3).map(
        lambda parts: (["and", *(e for e, _ in parts)], [c for _, cs in parts for c in cs])
    ),
    max_leaves=8,
)


def nested(depth):
    expression = ["==", "$gpu", "a100"]
    for _ in range(depth):
        expression = ["and", expression]
    return json.dumps(expression)


def outcome(text):
    """The comparisons of a text, or None if the text is refused with a proper error."""
    try:
        return host_properties.parse(text)
    except ValueError as error:
        assert "expected a JSON expression" in str(error)
        return None


@given(st.text(), properties)
def test_any_text_parses_or_is_a_value_error(text, host):
    parsed = outcome(text)
    assert parsed is None or host_properties.satisfied(parsed, host) in (True, False)


@given(json_values, properties)
def test_any_json_parses_or_is_a_value_error(document, host):
    parsed = outcome(json.dumps(document))
    assert parsed is None or host_properties.satisfied(parsed, host) in (True, False)


@given(expressions)
def test_written_expression_is_parsed(written):
    expression, said = written
    assert host_properties.parse(json.dumps(expression)) == said


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(None, id="None"),
        pytest.param("", id="empty"),
        pytest.param(" \n", id="blank"),
        pytest.param("[]", id="empty list"),
        pytest.param(" [ ] ", id="empty list with blanks"),
    ],
)
def test_empty_expression_fits_every_host(text):
    assert host_properties.parse(text) == []
    assert host_properties.satisfied([], {})


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("gpu == a100", id="not JSON"),
        pytest.param("null", id="null"),
        pytest.param("{}", id="an object"),
        pytest.param('"=="', id="a text"),
        pytest.param("[[]]", id="an empty list within"),
        pytest.param('["and"]', id="and of nothing"),
        pytest.param('["and", []]', id="and of an empty list"),
        pytest.param('["or", ["==", "$a", "1"]]', id="or"),
        pytest.param('["==", "$a"]', id="no value"),
        pytest.param('["==", "$a", "1", "2"]', id="two values"),
        pytest.param('["==", "a", "1"]', id="no dollar"),
        pytest.param('["==", "$", "1"]', id="no name"),
        pytest.param('["==", "$a", 1]', id="a number for a value"),
        pytest.param('["~", "$a", "1"]', id="unknown operator"),
        pytest.param('[["=="], "$a", "1"]', id="a list for an operator"),
        pytest.param("[" * 100_000, id="many brackets"),
        pytest.param("1" * 10_000, id="many digits"),
        pytest.param(nested(17), id="one level too deep"),
    ],
)
def test_refused(text):
    with pytest.raises(ValueError, match="expected a JSON expression"):
        host_properties.parse(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("['==', '$gpu', 'true']", "with double quotes and not single ones"),
        ('["or", ["==","$a","b"], ["==","$a","c"]]', "a flavor for each of the alternatives"),
        ('[">=", "$ram.size", 64]', 'a text in place of 64: "64"'),
        ('["==", "$gpu", true]', 'a text in place of true: "true"'),
        ('["==", "gpu", "a100"]', 'a property in place of "gpu", such as "$gpu"'),
        ('["~", "$gpu", "a100"]', "with and, ==, =, !=, >=, <=, >, < in place of ~"),
        ('["and", ["==", "$a", "b"], [">=", "$c", 1.5]]', 'a text in place of 1.5: "1.5"'),
    ],
)
def test_refusal_names_the_mistake(text, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        host_properties.parse(text)


def test_the_deepest_that_is_read():
    assert host_properties.parse(nested(16)) == [("gpu", "==", "a100")]


@pytest.mark.parametrize(
    ("have", "sign", "want", "holds"),
    [
        pytest.param("a100", "==", "a100", True, id="same text"),
        pytest.param("a100", "=", "a100", True, id="single equals"),
        pytest.param("A100", "==", "a100", False, id="case counts"),
        pytest.param("a100", "!=", "v100", True, id="another text"),
        pytest.param(9, "<", "10", True, id="numbers as numbers"),
        pytest.param("9", "<", "10", True, id="text of numbers as numbers"),
        pytest.param("9", "<", "1O", False, id="a number and a word as text"),
        pytest.param(10, ">=", "10", True, id="at least, exactly"),
        pytest.param(10, "<=", "10", True, id="at most, exactly"),
        pytest.param(10, ">", "10", False, id="more, exactly"),
        pytest.param(1.5, "==", "1.50", True, id="fractions"),
        pytest.param(True, "==", "True", True, id="a truth as text"),
        pytest.param("nan", "==", "nan", True, id="nan is a text"),
        pytest.param("inf", "==", "infinity", False, id="inf is a text"),
        pytest.param(10**400, ">", "1", True, id="a number past all floats, as text"),
        pytest.param(None, "==", "None", False, id="unknown equals nothing"),
        pytest.param(None, "!=", "a100", False, id="unknown differs from nothing"),
    ],
)
def test_satisfied(have, sign, want, holds):
    assert host_properties.satisfied([("gpu", sign, want)], {"gpu": have}) is holds


@pytest.mark.parametrize("sign", SIGNS)
def test_a_property_the_host_lacks_satisfies_none(sign):
    assert not host_properties.satisfied([("gpu", sign, "a100")], {"cpu": "a100"})


@pytest.mark.parametrize(
    ("host", "holds"),
    [
        pytest.param({"gpu": "a100", "count": "8"}, True, id="both"),
        pytest.param({"gpu": "a100", "count": "3"}, False, id="first only"),
        pytest.param({"gpu": "v100", "count": "8"}, False, id="second only"),
        pytest.param({"gpu": "a100"}, False, id="one is missing"),
    ],
)
def test_all_comparisons_must_hold(host, holds):
    asked = host_properties.parse('["and", ["==", "$gpu", "a100"], [">=", "$count", "4"]]')
    assert host_properties.satisfied(asked, host) is holds


PYTHONS = {
    "==": operator.eq,
    "=": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


@given(st.integers(-50, 50), st.sampled_from(SIGNS), st.integers(-50, 50), st.booleans())
def test_whole_numbers_compare_as_they_do_in_python(have, sign, want, stored_as_text):
    host = {"n": str(have) if stored_as_text else have}
    expected = PYTHONS[sign](have, want)
    assert host_properties.satisfied([("n", sign, str(want))], host) is expected
