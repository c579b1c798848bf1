"""Tests of the Cloud Billing export: parsing it, comparing it with a team's jobs, and the page for leads."""

import csv
import io
import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from jobs.billing import BadExport, import_billing, read_rows
from jobs.billing.compare import add_up
from jobs.cost import from_micros
from jobs.models import BilledAmount, BillingImport, Job, Team
from jobs.upkeep import count_ended
from tests.conftest import person
from tests.pages.conftest import MakeJob, SignIn, text_in, text_of
from tests.support.clock import Clock

pytestmark = pytest.mark.django_db
HEAD = ["usage_start_time", "cost", "currency", "cost_type", "invoice.month", "project.id", "service.description",
        "labels", "credits"]  # fmt: skip


@pytest.fixture
def lead(team: Team) -> User:
    return person("lead", team, "lead")


def row(
    job: str = "", cost: str = "1.5", *, currency: str = "USD", kind: str = "regular", credit: str = "", **cells: str
) -> list[str]:
    labels = [{"key": "team", "value": "x"}, *([{"key": "trainboard_job", "value": job}] if job else [])]
    taken_off = json.dumps([{"name": "discount", "amount": float(credit)}]) if credit else "[]"
    given = {"time": "2026-03-02 10:00:00 UTC", "month": "202603", "project": "vision-research"} | cells
    return [
        given["time"],
        cost,
        currency,
        kind,
        given["month"],
        given["project"],
        "Vertex AI",
        json.dumps(labels),
        taken_off,
    ]


def export(*rows: list[str], head: list[str] = HEAD) -> str:
    text = io.StringIO()
    csv.writer(text).writerows([head, *rows])
    return text.getvalue()


def compare(team: Team, lead: User, clock: Clock, *rows: list[str]) -> BillingImport:
    return import_billing(team, io.StringIO(export(*rows)), name="march.csv", by=lead, now=clock.now)


@pytest.fixture
def job(make_job: MakeJob, clock: Clock) -> Job:
    """A job that has ended and cost something."""
    made = make_job("succeeded", name="resnet")
    Job.objects.filter(pk=made.pk).update(running_seconds=3_600)
    count_ended(clock.now)
    return made


def ours(job: Job) -> Decimal:
    return round(from_micros(Job.objects.get(pk=job.pk).cost_micros), 2)


class TestComparing:
    def test_a_job_is_found_by_its_label_and_the_difference_told(
        self, team: Team, lead: User, clock: Clock, job: Job
    ) -> None:
        compare(team, lead, clock, row(str(job.pk), "2", credit="-0.5"), row(str(job.pk), "0.75"))

        amount = BilledAmount.objects.get()
        assert (amount.job, amount.cost, amount.credits) == (job, Decimal("2.75"), Decimal("-0.5"))
        assert amount.ours_usd == ours(job) > 0
        assert amount.difference_usd == Decimal("2.75") - ours(job)

    def test_tax_and_other_currencies_are_kept_apart(self, team: Team, lead: User, clock: Clock, job: Job) -> None:
        compare(
            team, lead, clock,
            row(str(job.pk), "2"), row(str(job.pk), "0.4", kind="tax"), row(str(job.pk), "5", currency="EUR"),
        )  # fmt: skip

        found = {each.currency: each for each in BilledAmount.objects.all()}
        assert (found["USD"].cost, found["USD"].tax) == (2, Decimal("0.4"))
        assert (found["EUR"].cost, found["EUR"].difference_usd) == (5, None)

    def test_what_is_unmatched_either_way_is_listed(
        self, team: Team, lead: User, clock: Clock, job: Job, make_job: MakeJob
    ) -> None:
        result = compare(team, lead, clock, row("", "7"), row("not-a-job", "8"), row("", "9", project="somebody-else"))

        assert result.passed_over == 1
        found = {(each.label, each.service): each for each in BilledAmount.objects.all()}
        assert found["", "Vertex AI"].cost == 7
        assert found["not-a-job", ""].job is None
        assert found[str(job.pk), ""].difference_usd == -ours(job)

    def test_a_job_of_another_team_is_not_shown_as_one_of_ours(
        self, team: Team, other_team: Team, lead: User, stranger: User, clock: Clock, job: Job
    ) -> None:
        import_billing(other_team, io.StringIO(export(row(str(job.pk)))), name="x.csv", by=stranger, now=clock.now)

        assert BilledAmount.objects.get().job is None

    def test_a_month_ends_by_pacific_time(self, team: Team) -> None:
        lines = export(row(time="2026-04-01 06:59:59 UTC", month=""), row(time="2026-04-01T07:00:00Z", month=""))

        assert [each.month.month for each in read_rows(io.StringIO(lines))] == [3, 4]

    def test_rows_are_read_as_a_stream(self) -> None:
        text = export(row("11111111-1111-4111-8111-111111111111", "0.01")).splitlines()[1] + "\n"
        taken = 0

        def lines() -> Iterator[str]:
            nonlocal taken
            yield ",".join(HEAD) + "\n"
            for _ in range(20_000):
                taken += 1
                yield text

        assert next(read_rows(lines())).cost == Decimal("0.01")
        assert taken == 1
        read = add_up(read_rows(lines()), projects=["vision-research"])
        (sums,) = read.sums.values()
        assert (read.rows, sums.cost) == (20_000, 200)


class TestBadFiles:
    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("", "Line 1 lacks"),
            ("a,b\n1,2\n", "Line 1 lacks the column usage_start_time, cost, currency, labels"),
            (export(row(cost="lots")), "Line 2: “lots” in the column cost is not an amount"),
            (export(row(cost="NaN")), "Line 2: “NaN”"),
            (export(row(), row(currency="dollars")), "Line 3: “dollars” is not a currency"),
            (export(row(month="2026-03")), "Line 2: “2026-03” is not a month"),
            (export(row(month="", time="yesterday")), "Line 2: “yesterday” is not a time"),
            (export([*row()[:-2], "key=value", "[]"]), "Line 2: the column labels is not valid JSON"),
            (export([*row()[:-1], '[{"amount": "x"}]']), "Line 2: “x” in the column credits"),
            (export(row()[:-1]), "Line 2 has 8 cells, but line 1 has 9"),
            (export(row()) + '"', "is not valid CSV"),
            (export(), "no rows"),
        ],
    )
    def test_are_explained_by_line_and_change_nothing(
        self, team: Team, lead: User, clock: Clock, signed_in: SignIn, text: str, words: str
    ) -> None:
        compare(team, lead, clock, row())
        upload = SimpleUploadedFile("bad.csv", text.encode() or b"\n")

        answer = signed_in(lead).post(f"/spend/billing/{team.pk}/", {"export": upload})

        assert answer.status_code == 422
        assert words in text_of(answer)
        assert BillingImport.objects.get().name == "march.csv"

    def test_a_file_that_is_no_text_is_explained(self, team: Team, lead: User, signed_in: SignIn) -> None:
        upload = SimpleUploadedFile("bad.csv", b"\xff\xfe\x00PK" * 100)

        assert "is not valid UTF-8" in text_of(signed_in(lead).post(f"/spend/billing/{team.pk}/", {"export": upload}))

    @given(st.text(max_size=200))
    def test_any_text_is_read_or_explained(self, text: str) -> None:
        try:
            list(read_rows(io.StringIO(text)))
        except BadExport as error:
            message = str(error)
            assert "ine " in message


class TestPage:
    def test_shows_the_last_import(self, team: Team, lead: User, clock: Clock, job: Job, signed_in: SignIn) -> None:
        upload = SimpleUploadedFile("march.csv", export(row(str(job.pk), "2"), row("", "7", currency="EUR")).encode())
        browser = signed_in(lead)

        page = browser.post(f"/spend/billing/{team.pk}/", {"export": upload}, follow=True).content.decode()

        assert "resnet Mar 2026 $2.00" in text_in(page, "billed-jobs")
        assert "Vertex AI · Mar 2026 · 7.00 EUR" in text_in(page, "billed-unlabelled")
        lines = browser.get(f"/spend/billing/{team.pk}/billing.csv").getvalue().decode().splitlines()
        assert len(lines) == 3
        assert lines[0].startswith("month,currency,job,")

    def test_only_leads_see_it(
        self, team: Team, lead: User, clock: Clock, owner: User, approver: User, stranger: User, signed_in: SignIn
    ) -> None:
        compare(team, lead, clock, row())
        for user, status in ((owner, 403), (approver, 403), (stranger, 404)):
            for path in ("", "billing.csv"):
                assert signed_in(user).get(f"/spend/billing/{team.pk}/{path}").status_code == status

    def test_needs_few_queries(self, team: Team, lead: User, clock: Clock, signed_in: SignIn) -> None:
        compare(team, lead, clock, *(row(f"job-{number}") for number in range(150)))
        browser: Any = signed_in(lead)

        with CaptureQueriesContext(connection) as queries:
            browser.get(f"/spend/billing/{team.pk}/")

        assert len(queries) <= 11
