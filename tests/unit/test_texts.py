"""Tests of texts of the pure packages: English when stored or sent, translated when a page shows them."""

import copy
import json
import pickle
from datetime import date
from decimal import Decimal

import pytest
from django.utils.translation import override
from hypothesis import given
from hypothesis import strategies as st

from jobs.diagnosis import Circumstances, diagnose
from jobs.errors import NotAllowed
from jobs.importer import read_text
from jobs.policy_rules import Approvers, Rule
from jobs.policy_words import describe
from jobs.spec.reading import KINDS, read
from jobs.spec.shape import fields
from jobs.spec.unknown import unknown_findings
from jobs.strategies import RULES, STRATEGIES, check
from jobs.texts import Text, as_json, day_of, from_json, is_translatable, joined, month_of, translatable
from jobs.translations import translated
from tests.unit.strategies.cases import submission

NAMELESS = {"displayName": "", "jobSpec.serviceAccount": "me"}
REFUSING = {"display_name_is_given", "service_account_is_an_address"}
WRONG = ("\0", "\ud800", "x", 5, 0.5, 10**70, True, ["x"], [[], {}], {"": []}, {"x": None}, {"trials": 1})
"""Values that most fields cannot hold, whatever they are."""
MEMORY = "The replica workerpool0-0 ran out-of-memory and exited with a non-zero status of 9."


def test_a_text_is_its_english_in_everything() -> None:
    text = translatable("%(replica)s ran out of memory.", replica="workerpool0-0")

    assert text == "workerpool0-0 ran out of memory."
    assert json.dumps({"text": text}) == '{"text": "workerpool0-0 ran out of memory."}'
    assert {text: 1}["workerpool0-0 ran out of memory."] == 1


def test_a_text_is_translated_with_its_values() -> None:
    text = translatable("%(words)s The cause is nearly always a lack of memory.", words=translatable("Out of memory"))

    with override("es"):
        assert translated(text) == "Sin memoria Casi siempre se debe a falta de memoria."
    with override("en"):
        assert translated(text) == text


def test_a_text_survives_being_copied() -> None:
    text = translatable("%(replica)s ran out of memory.", replica="workerpool0-0")
    for each in (copy.deepcopy(text), pickle.loads(pickle.dumps(text))):
        assert isinstance(each, Text)
        assert (each, each.msgid, each.values) == (text, text.msgid, text.values)


@given(st.text(), st.dictionaries(st.sampled_from("abc"), st.text()))
def test_a_text_is_kept_as_json(plain: str, values: dict[str, str]) -> None:
    inner = translatable("".join(f"%({name})s" for name in values) or "Out of memory", **values)
    for text in (plain, inner, translatable("%(words)s.", words=inner)):
        read = from_json(json.loads(json.dumps(as_json(text))))

        assert (read, type(read)) == (text, type(text))
        assert as_json(read) == as_json(text)


def test_percent_signs_of_values_and_of_texts_without_values_stay() -> None:
    with override("es"):
        assert translated(translatable("100 % sure")) == "100 % sure"
        assert translated(joined("50 %", "of %(it)s")) == "50 % of %(it)s"


def test_joined_texts_leave_out_empty_ones_and_quotations_are_not_translatable() -> None:
    known = joined(translatable("Out of memory"), "", "Killed")

    assert known == "Out of memory Killed"
    assert is_translatable(known)
    assert not is_translatable(joined("", "Killed"))
    assert not is_translatable("Killed")
    with override("pt-br"):
        assert translated(known) == "Sem memória Killed"


def test_texts_are_joined_by_what_is_asked_for() -> None:
    refused = NotAllowed([finding for finding in check(submission("custom_job", NAMELESS)) if finding.code in REFUSING])

    assert refused.errors == "The job has no display name.; “me” is no e-mail address."
    with override("es"):
        expected = "El trabajo no tiene nombre visible.; “me” no es una dirección de correo electrónico."
        assert translated(refused.errors) == expected


def test_rules_of_a_policy_are_translated_as_sentences() -> None:
    rule = Rule(outcome="ask", cost_over=Decimal(500), kinds=("custom_job",), approvals=2, role="lead")
    groups = rule.model_copy(update={"further": (Approvers(approvers=("lena", "sam")),)})

    assert describe(groups) == "Ask 2 leads and 1 of lena, sam if a job may cost over $500.00, is a custom job"
    with override("es"):
        assert translated(describe(groups)) == (
            "Preguntar a 2 líderes y 1 de lena, sam si un trabajo puede costar más de $500.00, es de tipo"
            " trabajo personalizado"
        )
        assert translated(describe(Rule(outcome="allow"))) == "Permitir todos los trabajos"


def test_the_sentences_of_rules_can_be_translated() -> None:
    """They are docstrings, which `manage.py makemessages` hands to gettext."""
    with override("es"):
        assert [code for code, rule in RULES.items() if translated(rule.message) == rule.message] == []
        assert translated(RULES["display_name_is_given"].message) == "Un trabajo tiene un nombre visible."


def test_months_are_translated_with_their_year() -> None:
    assert [month_of(date(2026, number, 1)) for number in (1, 12)] == ["January 2026", "December 2026"]
    with override("pt-br"):
        assert translated(month_of(date(2026, 3, 1))) == "março de 2026"
        assert translated(day_of(date(2026, 3, 1))) == "1 de março de 2026"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"displayName" "x"}', "Faltan dos puntos después del nombre “displayName”."),
        ("nbformat: 4", "Este es un notebook en el que no se encontró ningún trabajo."),
        (
            "from google.cloud import aiplatform\naiplatform.PipelineJob(x=1)",
            "Esto crea una canalización de Vertex AI Pipelines, que Trainboard no ejecuta.",
        ),
        ("workerPoolSpecs: *b", "El alias *b no se refiere a nada anterior."),
    ],
)
def test_what_the_importer_notes_is_translated(text: str, message: str) -> None:
    noted = read_text(text).findings

    with override("es"):
        assert message in [translated(finding.message) for finding in noted]
    assert all(is_translatable(finding.message) for finding in noted)


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_a_spec_refuses_is_translated(kind: str) -> None:
    inner = [(slot, each) for slot in fields(KINDS[kind]) if slot.model is not None for each in fields(slot.model)]
    bodies = [{slot.alias: value} for slot in fields(KINDS[kind]) for value in WRONG]
    bodies += [{slot.alias: {each.alias: value}} for slot, each in inner for value in WRONG]
    found = [finding for body in bodies for finding in read(kind, body)[1]]

    assert found
    assert [each.message for each in found if not is_translatable(each.message)] == []
    assert [each.remedy for each in found if each.remedy and not is_translatable(each.remedy)] == []


def test_a_refusal_of_a_spec_is_translated_with_what_it_quotes() -> None:
    body = {"displayName": 3, "jobSpec": {"enableWebAccess": [1], "scheduling": {"timeout": "5 hours"}}}
    with override("es"):
        assert [translated(each.message) for each in read("custom_job", body)[1]] == [
            "displayName debe ser un texto, no un número “3”.",
            "enableWebAccess debe ser true o false, no una lista.",
            'timeout debe dar los segundos con una s y entre comillas, como "7200s", no “5 hours”.',
        ]


def test_what_is_unknown_in_a_spec_is_translated_with_what_it_quotes() -> None:
    job, _ = read("custom_job", {"stagingBucket": "b", "jobSpec": {"scheduling": {"strategy": "SPOTT"}}})
    assert job is not None
    with override("es"):
        assert [(translated(each.message), translated(each.remedy)) for each in unknown_findings(job)] == [
            (
                "“stagingBucket” no es un campo de CustomJob que Trainboard conozca a fecha de"
                " 21 de noviembre de 2026; decide Vertex AI.",
                "Es un argumento del SDK de Python; la API tiene `baseOutputDirectory.outputUriPrefix`.",
            ),
            (
                "“SPOTT” no es un valor de strategy que Trainboard conozca a fecha de"
                " 21 de noviembre de 2026; decide Vertex AI.",
                "¿Quiso decir `SPOT`?",
            ),
        ]


def test_a_diagnosis_and_a_strategy_are_translated_whole() -> None:
    known = diagnose(8, MEMORY, Circumstances(strategy="spot"))
    assert known is not None
    with override("id"):
        assert translated(known.title) == "Kehabisan memori"
        assert translated(known.explanation) == "workerpool0-0 kehabisan memori."
        assert translated(STRATEGIES["standard"].restart_rule).startswith("Job yang tidak mendapat kapasitas")
    assert json.loads(json.dumps(known.title)) == "Out of memory"
