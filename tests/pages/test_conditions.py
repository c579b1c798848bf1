"""Tests of conditional parameters: a tree in the body, rows in the form, and the same study either way."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from dashboard.forms.compose.conditions import CHILDREN, Row, tree_of
from dashboard.forms.compose.initial import parameter_rows
from dashboard.forms.compose.paths import get
from jobs.models import Job
from tests.pages.conftest import STUDY, SignIn, fields_of, text_in

MAX_ROWS = 40
WORDS = {"categoricalValueSpec": {"values": ["adam", "sgd"]}}
WHOLE = {"integerValueSpec": {"minValue": "1", "maxValue": "3"}}
NUMBERS = {"discreteValueSpec": {"values": [0.5, 16]}}

NAMES = st.sampled_from(["a", "b", "c", " d", "", "e,f"])
RANGES = st.sampled_from([WORDS, WHOLE, NUMBERS, {}])
CONDITIONS = st.sampled_from(["parentCategoricalValues", "parentIntValues", "parentDiscreteValues"])
VALUES = st.lists(st.sampled_from(["1", "adam", "x, y", "", "2"]), max_size=3)


def parameter(name: str, of: dict[str, Any], *children: dict[str, Any]) -> dict[str, Any]:
    return {"parameterId": name, **of} | ({CHILDREN: list(children)} if children else {})


def only(condition: str, values: list[Any], child: dict[str, Any]) -> dict[str, Any]:
    return {condition: {"values": values}, "parameterSpec": child}


TREE = [
    parameter(
        "optimizer",
        WORDS,
        only("parentCategoricalValues", ["sgd"], parameter("momentum", NUMBERS)),
        only(
            "parentCategoricalValues",
            ["adam"],
            parameter("warm-up", WHOLE, only("parentIntValues", ["2", "3"], parameter("steps", WHOLE))),
        ),
    ),
    parameter("batch", NUMBERS, only("parentDiscreteValues", [0.5], parameter("decay", WHOLE))),
]


class TestRows:
    def test_each_parameter_has_one_in_the_order_of_the_tree(self) -> None:
        rows = parameter_rows(TREE, most=MAX_ROWS)

        assert [(row.body["parameterId"], row.parent, row.values) for row in rows] == [
            ("optimizer", "", ()),
            ("momentum", "optimizer", ("sgd",)),
            ("warm-up", "optimizer", ("adam",)),
            ("steps", "warm-up", ("2", "3")),
            ("batch", "", ()),
            ("decay", "batch", ("0.5",)),
        ]
        assert tree_of(rows).parameters == TREE

    def test_each_row_knows_its_path_in_the_tree(self) -> None:
        below = f"studySpec.parameters[0].{CHILDREN}"

        assert tree_of(parameter_rows(TREE, most=MAX_ROWS)).paths == [
            "studySpec.parameters[0]",
            f"{below}[0].parameterSpec",
            f"{below}[1].parameterSpec",
            f"{below}[1].parameterSpec.{CHILDREN}[0].parameterSpec",
            "studySpec.parameters[1]",
            f"studySpec.parameters[1].{CHILDREN}[0].parameterSpec",
        ]

    @pytest.mark.parametrize(
        "child",
        [
            only("parentCategoricalValues", ["a, b"], parameter("x", WHOLE)),
            only("parentDiscreteValues", [1], parameter("x", WHOLE)),
            only("parentCategoricalValues", ["adam"], parameter("x", WHOLE)) | {"parentIntValues": {"values": ["1"]}},
            {"parentCategoricalValues": {"values": ["adam"]}},
            {},
        ],
        ids=["comma", "other kind", "two conditions", "no parameter", "nothing"],
    )
    def test_what_rows_could_not_say_stays_a_tree(self, child: dict[str, Any]) -> None:
        tree = [parameter("optimizer", WORDS, child)]

        assert parameter_rows(tree, most=MAX_ROWS) == [Row(tree[0])]

    def test_a_parent_whose_name_no_field_shows_keeps_its_children(self) -> None:
        tree = [parameter(" a\n", WORDS, only("parentCategoricalValues", ["adam"], parameter("x", WHOLE)))]

        assert parameter_rows(tree, most=MAX_ROWS) == [Row(tree[0])]

    def test_more_than_the_form_shows_stay_a_tree(self) -> None:
        assert len(parameter_rows(TREE, most=5)) == len(TREE)

    trees = st.recursive(
        st.builds(parameter, NAMES, RANGES),
        lambda below: st.builds(
            lambda name, of, children: parameter(name, of, *children),
            NAMES,
            RANGES,
            st.lists(st.builds(only, CONDITIONS, VALUES, below), max_size=3),
        ),
        max_leaves=8,
    )

    @given(st.lists(trees, max_size=3))
    def test_any_tree_comes_back(self, tree: list[dict[str, Any]]) -> None:
        rows = parameter_rows(tree, most=MAX_ROWS)
        found = tree_of(rows)

        assert found.parameters == tree
        for path, row in zip(found.paths, rows, strict=True):
            node = get({"studySpec": {"parameters": tree}}, path)
            assert isinstance(node, dict)
            assert {name: value for name, value in node.items() if name != CHILDREN} == {
                name: value for name, value in row.body.items() if name != CHILDREN
            }


class TestPage:
    FIELDS = STUDY | {
        "parameter-TOTAL_FORMS": "4",
        "parameter-3-parameter_id": "momentum",
        "parameter-3-kind": "double",
        "parameter-3-low": "0",
        "parameter-3-high": "0.9",
        "parameter-3-parent": "optimizer",
        "parameter-3-parent_values": "sgd",
    }

    def test_a_conditional_parameter_is_requested_and_cloned(self, engineer: Client, example: dict[str, str]) -> None:
        answer = engineer.post("/jobs/new/", example | self.FIELDS)
        assert answer.status_code == 302, text_in(answer.content.decode(), "compose")
        job = Job.objects.get()

        optimizer = job.spec["studySpec"]["parameters"][1]
        clone = engineer.get(f"/jobs/new/?job={job.pk}").content.decode()

        (child,) = optimizer["conditionalParameterSpecs"]
        assert child["parentCategoricalValues"] == {"values": ["sgd"]}
        assert child["parameterSpec"]["parameterId"] == "momentum"
        shown = fields_of(clone)
        ids = {shown[f"parameter-{at}-parameter_id"]: at for at in range(4)}
        row = f"parameter-{ids['momentum']}"
        assert (shown[f"{row}-parent"], shown[f"{row}-parent_values"]) == ("optimizer", "sgd")

    @pytest.mark.parametrize(
        ("changes", "field", "words"),
        [
            ({"parent": "optimiser"}, "parent", "No parameter above is called “optimiser”."),
            ({"parent": "momentum"}, "parent", "No parameter above"),
            ({"parent": ""}, "parent", "Name the parameter"),
            ({"parent_values": "rmsprop"}, "parent_values", "The parent cannot take “rmsprop”."),
            ({"parent_values": ""}, "parent_values", "names no value"),
            ({"parent": "lr", "parent_values": "0.1"}, "parent_values", "The parent cannot take"),
            ({"parent": "batch", "parent_values": "many"}, "parent_values", "many"),
            ({"low": "2"}, "low", ""),
        ],
    )
    def test_what_does_not_go_is_said_at_its_row(
        self, engineer: Client, example: dict[str, str], changes: dict[str, str], field: str, words: str
    ) -> None:
        changed = {f"parameter-3-{name}": value for name, value in changes.items()}

        answer = engineer.post("/jobs/new/", example | self.FIELDS | changed)

        assert answer.status_code == 422
        found = text_in(answer.content.decode(), f"id_parameter-3-{field}-finds")
        assert found
        assert words in found

    def test_a_parent_with_an_unreadable_field_is_still_the_parent(
        self, engineer: Client, example: dict[str, str]
    ) -> None:
        changed = {"parameter-1-scale": "x" * 1_000, "parameter-2-numbers": "16, many", "parameter-3-parent": "batch"}

        page = engineer.post("/jobs/new/", example | self.FIELDS | changed).content.decode()

        assert "not a number" in text_in(page, "id_parameter-2-numbers-finds")
        assert text_in(page, "id_parameter-3-parent-finds") == ""

    def test_a_stranger_sees_nothing_of_it(
        self, engineer: Client, example: dict[str, str], stranger: User, signed_in: SignIn
    ) -> None:
        engineer.post("/jobs/new/", example | self.FIELDS)

        assert signed_in(stranger).get(f"/jobs/new/?job={Job.objects.get().pk}").status_code == 404
