"""Tests of pages in the reader's language: which one is chosen, and that no text stays English."""

import re
from collections.abc import Iterable
from datetime import date, timedelta
from html.parser import HTMLParser
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.template import Context
from django.template.base import VariableNode
from django.template.loader import get_template
from django.test import Client
from django.urls import reverse
from django.utils import translation

from dashboard.access.confirmation import CONFIRMED_AT
from dashboard.access.locale import FILES, zone_names
from dashboard.drawing.figures import dated, day_of
from dashboard.pages.audit_log import SIGN_INS
from jobs import explain
from jobs.messages.route import new_delivery
from jobs.metrics import Record, Series
from jobs.models import (
    Budget,
    BudgetChange,
    BudgetNotice,
    Ceiling,
    Job,
    JobMetrics,
    Message,
    Schedule,
    ScheduleRun,
    Team,
    Trial,
)
from jobs.people.audit import record_sign_in_event
from jobs.upkeep.figures import count_ended
from tests.pages.conftest import MakeJob, SignIn, fields_of
from tests.pages.test_every_address import ACCESS, NO_ONE, address_of, keys, patterns
from tests.support.advice_rows import post_composed
from tests.support.clock import Clock
from tests.support.pseudo import pseudo_language
from tests.support.run_rows import make_family, make_stuck
from tests.support.written_log import Log

__all__ = ["keys"]
pytestmark = pytest.mark.django_db

TEMPLATES = sorted(Path(settings.BASE_DIR, "templates").rglob("*.html"))
MARKED = re.compile(
    r"{%\s*blocktranslate.*?{%\s*endblocktranslate\s*%}|{%\s*comment.*?endcomment\s*%}|{%.*?%}|{{.*?}}|{#.*?#}",
    re.DOTALL,
)
WORD = re.compile(r"[A-Za-z]{2,}")
AS_IT_IS = frozenset({"code", "kbd", "samp", "pre", "script", "style", "bdi"})
"""Elements whose text is the same in every language."""
SPOKEN = frozenset({"data-found", "aria-label", "title", "placeholder", "alt"})
ENGLISH = re.compile(r"\b(the|of|is|are|for|not|no|to|and|was|has|with|that|which|where|it|this|an)\b")
"""Words that no sentence is without, and that no name of the tests has."""
NAMES = frozenset(
    "admin owner lead viewer engineer vision training pool base example nightly resnet train "  # of the test's rows
    "spot standard reservation persistent resource flex start strategy "  # of the API
    "trainboard vertex gcloud python curl rest slack google cloud disk hyperdisk pod min mega english "
    "via".split()  # in the Esperanto of Django's own texts
)
"""Words that stand in translated texts and are names too."""
EXAMPLE = "/jobs/new/?example=1"
GCLOUD = (
    "gcloud ai custom-jobs create --region=us-central1 --display-name=x --worker-pool-spec=machine-type=n1-standard-4"
)
EXITED = "The replica workerpool0-0 exited with a non-zero status of 1."
TRACEBACK = (
    "Traceback (most recent call last):",
    '  File "/app/train.py", line 19, in <module>',
    "IndexError: 7",
)
NOT_DRAWN = frozenset(
    """
    403.html _/form_errors.html _/form_fields.html _/providers.html
    admin/base_site.html adopt/jobs.html approvals/again.html approvals/ask.html approvals/votes.html billing/jobs.html
    billing/months.html compose/attempts.html compose/carried.html compose/draft.html compose/literals.html
    compose/resources.html compose/unfinished.html deputies.html doctor.html history/sentence.html import.html
    job/change.html job/fallback.html job/log_new.html job/times_table.html job_delete.html join.html
    messages/channel_delete.html messages/channel_state.html persistent_resources/bill.html
    persistent_resources/held.html persistent_resources/jobs.html persistent_resources/none.html
    policy/changes.html policy/test.html policy/version.html policy/versions.html prices/history.html
    prices/proposals.html registration/login.html registration/password_reset_email.html schedule_edit.html
    study/curves.html study/parameters.html study/scatter.html too_much_work.html
    """.split()
)
"""Templates with values that the crawl does not draw: it has no rows or answers for them. The list may only shrink."""
BUDGET_CHANGES: list[dict[str, Any]] = [
    {"name": [None, "Training"], "amount_usd": [None, "100"], "passing": [None, "ask"], "thresholds": [None, [50]]},
    {"amount_usd": ["100", "120"], "passing": ["ask", "stop"]},
    {"closed": [False, True]},
]
STATES = ("running", "queued", "pending", "succeeded", "failed", "cancelled", "submit_failed")


class Texts(HTMLParser):
    """Collects the texts of a page that a person reads or hears, with their lines, except untranslated ones."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[int, str]] = []
        self._open: list[tuple[str, bool]] = []
        self._depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        stays = tag in AS_IT_IS or given.get("translate") == "no" or (given.get("lang") == "en" and tag != "html")
        if not (stays or self._stays()):
            spoken = (value for name, value in attrs if name in SPOKEN and value)
            self.found += [(self.getpos()[0], outside_brackets(value)[0]) for value in spoken]
        if tag not in {"input", "br", "img", "link", "meta", "hr", "wbr"}:
            self._open.append((tag, stays or tag == "textarea"))  # what somebody typed

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if self._open and self._open[-1][0] == tag:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag in (name for name, _ in self._open):
            while self._open.pop()[0] != tag:
                pass

    def handle_data(self, data: str) -> None:
        left, self._depth = outside_brackets(data, self._depth)
        if not self._stays():
            self.found.append((self.getpos()[0], left))

    def _stays(self) -> bool:
        return any(stays for _, stays in self._open)


def outside_brackets(text: str, depth: int = 0) -> tuple[str, int]:
    """Return what of a text stands outside ⟦⟧, and how many are open at its end: they may hold elements and others."""
    kept = []
    for sign in text:
        depth += sign == "⟦"
        if depth == 0:
            kept.append(sign)
        depth -= sign == "⟧"
    return "".join(kept), depth


def texts_of(html: str) -> list[tuple[int, str]]:
    texts = Texts()
    texts.feed(html)
    return texts.found


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: str(path.relative_to(settings.BASE_DIR / "templates")))
def test_every_text_of_a_template_is_marked(path: Path) -> None:
    html = MARKED.sub(lambda found: "\n" * found[0].count("\n"), path.read_text())
    unmarked = [(line, text.strip()) for line, text in texts_of(html) if WORD.search(text.replace("Trainboard", ""))]
    assert unmarked == []


@pytest.fixture
def study(make_job: MakeJob, clock: Clock) -> Job:
    """A study with a trial in each state that has machines."""
    job = make_job("running", kind="hyperparameter_tuning_job", hours=0.01)
    for number, state in enumerate(("SUCCEEDED", "INFEASIBLE", "ACTIVE"), 1):
        Trial.objects.create(
            job=job, trial_id=str(number), state=state, parameters={"learning-rate": number / 1000},
            metrics={"accuracy": 0.9} if state == "SUCCEEDED" else {}, started_at=clock.now,
            ended_at=None if state == "ACTIVE" else clock.now + timedelta(minutes=3),
        )  # fmt: skip
    return job


@pytest.fixture
def written(keys: dict[str, Any], team: Team, admin: User, clock: Clock) -> None:
    """Rows whose words are made where they are shown: changes of a budget and of settings, sign-ins, messages."""
    Team.objects.bulk_create([Team(name=f"x{number}", project="p") for number in range(7)])  # enough for a menu
    budget = Budget.objects.get()
    for number, fields in enumerate(BUDGET_CHANGES):
        at = clock.now + timedelta(minutes=number)
        BudgetChange.objects.create(budget=budget, by=admin, at=at, fields=fields, reason="-")
    BudgetNotice.objects.create(
        budget=budget, team=team, month=clock.now.date().replace(day=1), percent=50, amount_usd=100, spent_usd=50,
        message="50 % is spent.", at=clock.now,
    )  # fmt: skip
    for kind in Ceiling.Kind.values:
        Ceiling.objects.create(team=team, kind=kind, amount=10**9, set_by=admin, set_at=clock.now, reason="-")
    for words in SIGN_INS:
        record_sign_in_event(words, admin, by=admin, address="203.0.113.7")
    job = Job.objects.order_by("requested_at").first()
    for kind in Message.Kind.values:
        month, text = clock.now.date().replace(day=1).isoformat(), {} if kind == "test" else {"text": "80 % is spent."}
        is_of_team = kind in (
            "budget",
            "schedule",
            "resource_ends",
            "change_waits",
            "price_stale",
            "monthly_report",
            "test",
        )
        detail = {"month": month} if kind == "monthly_report" else text
        message = Message.objects.create(
            kind=kind, team=team, job=None if is_of_team else job, once_key=f"crawl:{kind}", detail=detail,
            occurred_at=clock.now, created_at=clock.now, routed_at=clock.now,
        )  # fmt: skip
        new_delivery(message, clock.now, via="browser", person=admin).save()


@pytest.fixture
def drawn(
    keys: dict[str, Any], make_job: MakeJob, study: Job, restarted: Log, written: None, clock: Clock
) -> list[str]:
    """Return what the crawl asks for: every address with a page, and pages of jobs in many states."""
    fallen = make_job("failed", error={"code": 3, "message": EXITED})
    for number, line in enumerate(TRACEBACK):
        Log(fallen, clock).write(number, line, severity="ERROR")
    explain.refresh(fallen)
    jobs = [*(make_job(state) for state in STATES), restarted.job, study, fallen]
    Job.objects.filter(state="awaiting_approval").update(cloned_from=jobs[0])
    count_ended()
    schedule = Schedule.objects.get()
    for number, outcome in enumerate(ScheduleRun.Outcome.values):
        at = schedule.created_at - timedelta(days=number)
        ScheduleRun.objects.create(schedule=schedule, moment=at, made_at=at, outcome=outcome)
    served = [each for each in patterns() if ACCESS[str(each.name)].get != NO_ONE]
    addresses = [each for each in (address_of(each, keys) for each in served) if not each.endswith(FILES)]
    further = [f"/studies/{study.pk}/", f"/compare/?a={jobs[0].pk}&b={jobs[3].pk}", EXAMPLE]
    points = [(float(step), step, 1 / (1 + step)) for step in range(3)]
    measured = Record([Series("auroc", "workerpool0-0", points, last=points[-1])]).as_json()
    JobMetrics.objects.update_or_create(job=jobs[3], defaults={"record": measured})
    further.append("/compare/?" + "&".join(f"job={jobs[number].pk}" for number in (0, 3, 4)))
    make_stuck(Job.objects.get(pk=jobs[0].pk), clock.now, answer_hours=4)
    further += [f"/jobs/new/?job={fallen.pk}", f"/jump/?q={fallen.display_name}", *make_family(jobs[4], jobs[5])]
    further += [f"/history/?of={each}&since=2020-01-01" for each in ("strategy", "accelerator", "region", "owner")]
    further += [f"/jobs/several/?action={each}&job={jobs[0].pk}&job={jobs[3].pk}" for each in ("cancel", "rerun")]
    return [*addresses, *(f"/jobs/{job.pk}/" for job in jobs), f"/jobs/{jobs[0].pk}/fine/", *further]


def pages(client: Client, addresses: list[str]) -> dict[str, str]:
    """Return {address: HTML} of the pages among the answers, and the check of the example as it is typed."""
    answers = {each: client.get(each) for each in addresses}
    typed = fields_of(answers[EXAMPLE].content.decode())
    answers |= post_composed(client, typed)
    answers["POST /jobs/import/"] = client.post(reverse("import"), {"text": GCLOUD})
    session = client.session
    session[CONFIRMED_AT] = 0
    session.save()
    answers["POST /account/tokens/"] = client.post("/account/tokens/", {"name": "7"})
    return {
        address: answer.content.decode()
        for address, answer in answers.items()
        if "html" in answer.headers.get("content-type", "") and answer.status_code != HTTPStatus.BAD_REQUEST
    }


def words_of(texts: Iterable[str]) -> set[str]:
    """Return the words of texts as they are looked up, without placeholders and elements."""
    plain = (re.sub(r"%\(\w+\)s|<[^>]*>", " ", text) for text in texts)
    return {word.lower() for text in plain for word in re.findall(r"(?<![\w./-])[A-Za-z][a-z]{2,}(?![\w/-])", text)}


def english_in(html: str, known: set[str]) -> list[str]:
    """Return the texts of a page that have a word which is translated elsewhere, or that read as a sentence."""
    texts = (" ".join(text.split()) for _, text in texts_of(html))
    own = (text for text in texts if text.replace(" ", "_") not in zone_names())
    return [text for text in own if ENGLISH.search(text) or words_of([text]) & known]


def templates_with_values() -> set[str]:
    """Return the templates that write a value somewhere."""
    root = Path(settings.BASE_DIR, "templates")
    names = (str(path.relative_to(root)) for path in TEMPLATES)
    return {each for each in names if get_template(each).template.nodelist.get_nodes_by_type(VariableNode)}


@pytest.fixture
def writing(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Return the set of templates that have written a value, which grows as pages are drawn."""
    found: set[str] = set()
    render = VariableNode.render

    def note(node: VariableNode, context: Context) -> str:
        if node.origin is not None:
            found.add(str(node.origin.template_name))
        return render(node, context)

    monkeypatch.setattr(VariableNode, "render", note)
    return found


def test_no_text_of_a_page_is_english_only(
    drawn: list[str], admin: User, signed_in: SignIn, tmp_path: Path, writing: set[str]
) -> None:
    """The pages are drawn in English before and after, so that nothing which a process keeps is of another language.

    A list without rows hides what its rows would say, so every template has to write some value.
    """
    client = signed_in(admin)
    before = pages(client, drawn)
    with pseudo_language(tmp_path) as texts:
        known = words_of(texts) - NAMES
        drawn_in_pseudo = pages(client, drawn)
    after = pages(client, drawn)

    wrong = {f"{address}: {text}" for address, html in drawn_in_pseudo.items() for text in english_in(html, known)}
    assert sorted(wrong) == []
    assert before.keys() == drawn_in_pseudo.keys() == after.keys()
    assert [address for address, html in after.items() if "⟦" in html] == []
    assert sorted(templates_with_values() - writing) == sorted(NOT_DRAWN)


def choose(client: Client, language: str) -> int:
    form = {"first_name": "", "last_name": "", "time_zone": "", "language": language}
    return client.post("/account/", form).status_code


def language_of(client: Client, **headers: str) -> str | None:
    answer = client.get("/account/", headers=headers)
    assert f'<html lang="{answer["Content-Language"]}"' in answer.content.decode()
    return answer["Content-Language"]


def file_of(client: Client, address: str, **headers: str) -> bytes:
    answer = client.get(address, headers=headers)
    assert answer["Content-Language"] == "en"
    return answer.getvalue()


@pytest.mark.both_databases
class TestWhichLanguage:
    def test_is_what_the_browser_asks_for(self, owner: User, signed_in: SignIn) -> None:
        client = signed_in(owner)

        assert language_of(client) == "en"
        assert language_of(client, **{"accept-language": "pt-BR,pt;q=0.9,en;q=0.8"}) == "pt-br"
        assert language_of(client, **{"accept-language": "de,fr;q=0.9"}) == "en"

    def test_is_what_the_person_has_chosen_in_every_browser(
        self, owner: User, teammate: User, signed_in: SignIn
    ) -> None:
        assert choose(signed_in(owner), "es") == 302

        assert language_of(signed_in(owner), **{"accept-language": "pt"}) == "es"
        assert language_of(signed_in(teammate)) == "en"

    def test_unknown_ones_are_refused(self, owner: User, signed_in: SignIn) -> None:
        assert choose(signed_in(owner), "tlh") == 422

    def test_of_a_page_before_sign_in(self, client: Client) -> None:
        assert client.get("/accounts/login/", headers={"accept-language": "id"})["Content-Language"] == "id"

    def test_of_files_and_the_api_is_english(self, owner: User, signed_in: SignIn, make_job: MakeJob) -> None:
        job, client = make_job("failed"), signed_in(owner)
        addresses = [
            "/history/jobs.csv",
            "/history/jobs.json",
            f"/jobs/{job.pk}/log.txt",
            f"/jobs/{job.pk}/events.json",
        ]
        before = [file_of(client, each) for each in addresses]
        assert choose(client, "es") == 302

        assert [file_of(client, each, **{"accept-language": "pt"}) for each in addresses] == before
        assert client.get("/api/v1/jobs")["Content-Language"] == "en"

    def test_of_a_refusal_is_that_of_the_page(self, owner: User, signed_in: SignIn) -> None:
        client = signed_in(owner)
        assert choose(client, "es") == 302
        answer = client.post("/rules/region_is_given/", {"severity": "off"}, follow=True)

        assert "Solo un administrador de este sitio cambia la gravedad de sus reglas." in answer.content.decode()

    def test_is_none_of_a_team_that_one_is_not_in(self, make_job: MakeJob, stranger: User, signed_in: SignIn) -> None:
        client = signed_in(stranger)
        assert choose(client, "es") == 302
        answer = client.get(f"/jobs/{make_job('failed').pk}/")

        assert answer.status_code == HTTPStatus.NOT_FOUND
        assert "Página no encontrada" in answer.content.decode()


@pytest.mark.parametrize(
    ("language", "day", "month"),
    [
        ("en", "5 Nov 2026", "November"),
        ("es", "5 nov 2026", "noviembre"),
        ("pt-br", "5 nov 2026", "novembro"),
        ("id", "5 Nov 2026", "November"),
    ],
)
def test_months_are_written_as_the_language_does(language: str, day: str, month: str) -> None:
    with translation.override(language):
        assert day_of("2026-11-05") == day
        assert dated(date(2026, 11, 5), "F") == month
