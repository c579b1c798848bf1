"""Tests of the policy page: leads edit, test and save; members read; strangers see nothing."""

from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from jobs.models import Job, Policy, PolicyVersion, Team
from tests.conftest import person
from tests.pages.conftest import MakeJob, SignIn, text_of

pytestmark = pytest.mark.django_db
TERMS = {"drift_percent": "10", "remind_hours": "4", "expire_hours": "48", "note": "Spot only", "base": "0"}


@pytest.fixture
def lead(team: Team, signed_in: SignIn) -> Client:
    person("second", team, "approver")  # the rules here ask two people
    lena = person("lena", team, "lead")
    User.objects.filter(pk=lena.pk).update(is_superuser=True)  # the only site admin, who acts alone
    return signed_in(User.objects.get(pk=lena.pk))


def draft(*rules: dict[str, Any], **more: str) -> dict[str, Any]:
    """Return what the form posts: its rules in their order."""
    posted: dict[str, Any] = {"rule-TOTAL_FORMS": str(len(rules)), "rule-INITIAL_FORMS": "0"} | TERMS | more
    for at, rule in enumerate(rules):
        posted |= {f"rule-{at}-ORDER": str(at + 1)} | {f"rule-{at}-{name}": value for name, value in rule.items()}
    return posted


ASK = {"outcome": "ask", "cost_over": "0.05", "approvals": "2"}
REFUSE = {"outcome": "refuse", "strategies": ["spot"], "words": "Not on Spot."}


class TestPage:
    def test_shows_the_limits_of_before_as_rules(self, lead: Client) -> None:
        text = text_of(lead.get("/policy/"))

        assert "Policy of vision" in text
        assert "Save as version 1" in text

    def test_lets_engineers_read(self, engineer: Client) -> None:
        page = engineer.get("/policy/")

        assert "Ask 1 approver or lead if a job may cost over $4.00." in text_of(page)
        assert b'name="action"' not in page.content
        assert engineer.post("/policy/", draft(ASK) | {"action": "save"}).status_code == 403
        assert not PolicyVersion.objects.exists()

    def test_hides_everything_from_a_stranger(self, team: Team, stranger: User, signed_in: SignIn) -> None:
        client = signed_in(stranger)

        assert client.get(f"/policy/?team={team.pk}").status_code == 404
        assert client.post("/policy/", draft(ASK, team=str(team.pk), action="save")).status_code == 404
        assert "vision" not in text_of(client.get("/policy/"))

    def test_of_somebody_without_a_team_is_not_there(self, signed_in: SignIn, team: Team) -> None:
        assert signed_in(User.objects.create_user("alone")).get("/policy/").status_code == 404


class TestSave:
    def test_makes_a_version_that_counts(self, lead: Client, team: Team, make_job: MakeJob) -> None:
        page = lead.post("/policy/", draft(REFUSE, ASK, action="save"), follow=True)

        assert "Policy 1 of vision" in text_of(page)
        assert "Refuse if a job runs under spot. Not on Spot." in text_of(page)
        version = Policy.objects.get(team=team).current
        assert version is not None
        assert (version.drift_percent, version.remind_hours, version.expire_hours) == (10, 4, 48)
        assert [rule["outcome"] for rule in version.rules] == ["refuse", "ask"]

    def test_of_values_to_set_says_so_before_a_job_is_submitted(
        self, lead: Client, engineer: Client, team: Team, example: dict[str, str], stranger: User, signed_in: SignIn
    ) -> None:
        rule = {"outcome": "set", "set_labels": "billed-to=vision", "must": "on", "set_timeout_hours": "2"}
        page = lead.post("/policy/", draft(rule, action="save", team=str(team.pk)), follow=True)
        assert "Set the label billed-to=vision, a timeout of 2 h, and refuse other values, in every job." in text_of(
            page
        )

        form = engineer.post("/jobs/new/check/", example | {"run_time": "1 min", "timeout": ""})
        assert "sets the label billed-to to vision, as the job has none. (Policy 1, rule 1.)" in text_of(form)
        assert "sets the timeout to 2 h" in text_of(form)
        engineer.post("/jobs/new/", example | {"run_time": "1 min", "timeout": ""})
        job = Job.objects.get()
        assert job.spec["labels"]["billed-to"] == "vision"
        assert job.spec["jobSpec"]["scheduling"]["timeout"] == "7200s"
        assert "billed-to" not in text_of(signed_in(stranger).get("/policy/"))

    def test_keeps_what_follows_from_faults_of_running_jobs(
        self, lead: Client, engineer: Client, team: Team, stranger: User, signed_in: SignIn
    ) -> None:
        assert "Tell the owner of a running job when it is stuck." in text_of(engineer.get("/policy/"))
        posted = draft(ASK, stuck_action="cancel", stuck_hours="3", idle_action="ask", idle_hours="9", action="save")
        posted |= {"team": str(team.pk)}
        page = lead.post("/policy/", posted, follow=True)

        version = PolicyVersion.objects.get()
        assert version.waste_hours == {"idle": 0, "stuck": 3}
        sentence = "Ask the owner of a running job when it is stuck; unanswered, cancel it after 3 h."
        assert sentence in text_of(page)
        assert sentence in text_of(engineer.get("/policy/"))
        form = lead.get(f"/policy/?team={team.pk}").content.decode()
        assert '<option value="cancel" selected>' in form
        assert "after 3 h" not in text_of(signed_in(stranger).get("/policy/"))

    @pytest.mark.parametrize("hours", ["0", "337", "-1", "x"])
    def test_bounds_the_hours_until_a_job_is_cancelled(self, lead: Client, hours: str) -> None:
        posted = draft(ASK, stuck_action="cancel", stuck_hours=hours, action="save")
        assert lead.post("/policy/", posted).status_code == 422
        assert lead.post("/policy/", draft(ASK, stuck_action="nonsense", action="save")).status_code == 422
        assert not PolicyVersion.objects.exists()

    def test_keeps_the_order_of_the_numbers_and_leaves_out_what_is_removed(self, lead: Client, team: Team) -> None:
        rows = draft(ASK, REFUSE | {"ORDER": "1"}, {"outcome": "allow", "DELETE": "on"}, action="save")
        lead.post("/policy/", rows | {"rule-0-ORDER": "2"})

        assert [rule["outcome"] for rule in PolicyVersion.objects.get().rules] == ["refuse", "ask"]

    @pytest.mark.parametrize(("moved", "to", "order"), [(2, 1, "cab"), (0, 3, "bca"), (0, 2, "bac"), (1, 3, "acb")])
    def test_puts_a_rule_where_its_new_position_says(self, lead: Client, moved: int, to: int, order: str) -> None:
        rows = draft(*({"outcome": "allow", "words": name} for name in "abc"), action="save")
        lead.post("/policy/", rows | {f"rule-{moved}-ORDER": str(to)})

        assert "".join(rule["words"] for rule in PolicyVersion.objects.get().rules) == order

    def test_of_the_second_lead_is_told_and_nothing_typed_is_lost(
        self, lead: Client, team: Team, signed_in: SignIn
    ) -> None:
        lead.post("/policy/", draft(ASK, action="save"))
        other = signed_in(person("sam", team, "lead"))

        page = other.post("/policy/", draft(REFUSE, action="save"))

        assert page.status_code == 409
        assert "lena has saved another version in the meantime" in text_of(page)
        assert 'value="Not on Spot."' in page.content.decode()
        assert 'name="drift_percent" value="10"' in page.content.decode()
        assert other.post("/policy/", draft(REFUSE, ASK, action="save", base="1")).status_code == 302
        assert PolicyVersion.objects.count() == 2

    @pytest.mark.parametrize(
        ("rule", "words"),
        [
            ({"outcome": "refuse", "regions": "moon-base1"}, "There is no region moon-base1."),
            ({"outcome": "ask", "gpu_types": "NVIDIA_T1000"}, "There is no accelerator type NVIDIA_T1000."),
            ({"outcome": "ask", "cost_over": "-1"}, "greater than or equal to 0"),
            ({"outcome": "ask", "cost_over": "much"}, "Enter a number."),
            ({"outcome": "require"}, "Choose what a job must have."),
            ({"outcome": "set"}, "Choose what is set."),
            ({"outcome": "set", "set_labels": "Owner"}, "set_labels"),
            ({"outcome": "ask", "approvers": "owner"}, "owner is not an approver or lead of vision"),
            ({"outcome": "maybe"}, "Select a valid choice"),
        ],
    )
    def test_says_what_is_wrong_and_keeps_what_was_typed(
        self, lead: Client, owner: User, rule: Any, words: str
    ) -> None:
        page = lead.post("/policy/", draft(rule | {"words": "typed before"}, action="save"))

        assert page.status_code == 422
        assert words in text_of(page)
        assert "typed before" in page.content.decode()
        assert not PolicyVersion.objects.exists()

    def test_adds_a_row_without_javascript(self, lead: Client) -> None:
        page = lead.post("/policy/", draft(ASK, action="add")).content.decode()

        assert 'name="rule-1-outcome"' in page
        assert "Select a valid choice" not in page
        assert 'value="0.05"' in page

    @pytest.mark.parametrize("count", ["", "-1", "x", "1000", "99999999999"])
    def test_a_forged_number_of_rows_does_no_harm(self, lead: Client, count: str) -> None:
        for action in ("add", "test", "save"):
            answer = lead.post("/policy/", draft(ASK, action=action) | {"rule-TOTAL_FORMS": count})
            assert answer.status_code in (200, 422)
        assert not PolicyVersion.objects.exists()


class TestTest:
    def test_says_what_it_would_have_done_to_past_jobs(self, lead: Client, make_job: MakeJob, team: Team) -> None:
        Policy.objects.filter(team=team).update(ask_over_usd=Decimal(4))
        make_job("succeeded", name="cheap")
        make_job("awaiting_approval", name="dear")
        make_job("succeeded", name="standard", strategy="STANDARD")

        page = text_of(lead.post("/policy/", draft(REFUSE, ASK, action="test")))

        assert "would have asked for 1 of the last 3 jobs (today's policy: 1) and refused 2 (today's: 0)" in page
        assert "cheap owner allowed refused 1" in page
        assert "standard owner allowed asked 2" in page
        assert not PolicyVersion.objects.exists()

    def test_reads_no_more_than_is_bounded(
        self, lead: Client, make_job: MakeJob, django_assert_max_num_queries: Any
    ) -> None:
        for _ in range(3):
            make_job("approved")

        with django_assert_max_num_queries(16):
            lead.post("/policy/", draft(ASK, action="test"))


class TestVersion:
    def test_is_readable_by_members_and_nobody_else(
        self, lead: Client, engineer: Client, team: Team, stranger: User, signed_in: SignIn
    ) -> None:
        lead.post("/policy/", draft(ASK, action="save", team=str(team.pk)))
        lead.post("/policy/", draft(REFUSE, action="save", base="1", team=str(team.pk)))
        address = f"/policy/?team={team.pk}&version=1"

        assert "may cost over $0.05" in text_of(engineer.get(address))
        assert "Difference" in text_of(engineer.get(f"/policy/?team={team.pk}&version=2"))
        assert signed_in(stranger).get(address).status_code == 404
        for number in ("0", "9", "x", "", "1e3"):
            assert engineer.get(f"/policy/?team={team.pk}&version={number}").status_code == 404


class TestEffects:
    def test_counts_what_each_rule_does_with_past_jobs(
        self, lead: Client, engineer: Client, stranger: User, team: Team, make_job: MakeJob, signed_in: SignIn
    ) -> None:
        for name in ("a", "b"):
            make_job("running", name=name)
        allow, late = {"outcome": "allow", "strategies": ["spot"]}, {"outcome": "refuse", "regions": "us-central1"}
        sets = {"outcome": "set", "set_timeout_hours": "9"}
        lead.post("/policy/", draft(allow, late, sets, action="save", team=str(team.pk)))

        for reader in (lead, engineer):
            text = text_of(reader.get(f"/policy/effects/?team={team.pk}"))
            assert "2 allowed never decides: rule 1 comes first for the 2 jobs that it fits 2 jobs" in text
            assert "of the last 2 jobs" in text
        assert "/policy/effects/" in engineer.get("/policy/").text
        assert signed_in(stranger).get(f"/policy/effects/?team={team.pk}").status_code == 404

    def test_of_a_rule_that_fits_nothing_are_none(self, lead: Client) -> None:
        lead.post("/policy/", draft(ASK, action="save"))

        assert "0 asked of the last 0 jobs" in text_of(lead.get("/policy/effects/"))
