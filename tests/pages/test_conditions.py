"""Conditional parameters: a tree in the body, rows in the form, the same study either way."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from dashboard.forms.body.conditions import CHILDREN, Row, grown
from dashboard.forms.compose.filled import flat
from jobs.models import Job
from tests.pages.conftest import STUDY, SignIn, fields_of, text_in

MOST = 40
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
        rows = flat(TREE, most=MOST)

        assert [(row.body["parameterId"], row.parent, row.values) for row in rows] == [
            ("optimizer", "", ()),
            ("momentum", "optimizer", ("sgd",)),
            ("warm-up", "optimizer", ("adam",)),
            ("steps", "warm-up", ("2", "3")),
            ("batch", "", ()),
            ("decay", "batch", ("0.5",)),
        ]
        assert grown(rows).parameters == TREE

    def test_a_path_in_the_tree_is_found_in_its_row(self) -> None:
        found = grown(flat(TREE, most=MOST))
        below = f"studySpec.parameters[0].{CHILDREN}[1]"

        for path, place in {
            "studySpec.parameters[1].scaleType": "studySpec.parameters[4].scaleType",
            f"{below}.parameterSpec.integerValueSpec.minValue": "studySpec.parameters[2].integerValueSpec.minValue",
            f"{below}.parentCategoricalValues.values[0]": (
                "studySpec.parameters[2].condition.parentCategoricalValues.values[0]"
            ),
            below: "studySpec.parameters[2].condition",
            f"{below}.parameterSpec.{CHILDREN}[0]": "studySpec.parameters[3].condition",
            f"studySpec.parameters[0].{CHILDREN}[12].parameterSpec": (
                f"studySpec.parameters[0].{CHILDREN}[12].parameterSpec"
            ),
            "studySpec.parameters": "studySpec.parameters",
            "studySpec.parameters[10]": "studySpec.parameters[10]",
        }.items():
            assert found.place(path) == place

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

        assert flat(tree, most=MOST) == [Row(tree[0])]

    def test_a_parent_whose_name_no_field_shows_keeps_its_children(self) -> None:
        tree = [parameter(" a\n", WORDS, only("parentCategoricalValues", ["adam"], parameter("x", WHOLE)))]

        assert flat(tree, most=MOST) == [Row(tree[0])]

    def test_more_than_the_form_shows_stay_a_tree(self) -> None:
        assert len(flat(TREE, most=5)) == len(TREE)

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
        rows = flat(tree, most=MOST)
        found = grown(rows)

        assert found.parameters == tree
        assert [found.place(path) for path in found.paths] == [f"studySpec.parameters[{at}]" for at in range(len(rows))]


class TestPage:
    FIELDS = STUDY | {
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

        assert "no number" in text_in(page, "id_parameter-2-numbers-finds")
        assert text_in(page, "id_parameter-3-parent-finds") == ""

    def test_a_stranger_sees_nothing_of_it(
        self, engineer: Client, example: dict[str, str], stranger: User, signed_in: SignIn
    ) -> None:
        engineer.post("/jobs/new/", example | self.FIELDS)

        assert signed_in(stranger).get(f"/jobs/new/?job={Job.objects.get().pk}").status_code == 404
