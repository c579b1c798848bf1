"""Tests of further attempts on the pages: composed, approved, shown on board and job page, hidden from strangers."""

from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from dashboard.forms.compose.fallback_form import FallbackForm
from jobs import fallback, requests, transitions
from jobs.fallback import FREE_STRATEGIES, Plan, Reason, Step
from jobs.models import Fallback, FallbackAttempt, Job, Membership, Team
from jobs.requests import fallbacks
from tests.pages.conftest import SignIn, text_of
from tests.support import samples
from tests.support.api import caller
from tests.support.clock import Clock

THEN = {"then_1": "standard", "then_2": "same", "then_2_region": "europe-west4", "on_capacity": "on"}
SHORT = {"run_time": "1 min", "timeout": "2 min"}
PLANS = st.builds(
    Plan,
    st.lists(
        st.builds(Step, st.sampled_from(["", *FREE_STRATEGIES]), st.sampled_from(["", "europe-west4"])),
        min_size=1, max_size=fallback.MAX_FURTHER,
    ).map(tuple),
    st.frozensets(st.sampled_from(Reason), min_size=1),
    st.none() | st.integers(1, fallback.MAX_WAIT_HOURS),
    st.none() | st.decimals("0.01", "99999", places=2),
)  # fmt: skip


class TestPlan:
    @given(PLANS)
    def test_is_kept_and_read_back_as_it_was(self, plan: Plan) -> None:
        assert fallback.plan_of(plan.as_dict()) == plan
        assert fallback.problems_of(plan) == []

    @given(PLANS)
    def test_gives_each_attempt_its_strategy_and_region(self, plan: Plan) -> None:
        jobs = fallback.attempts_of(samples.submission(), plan)

        assert len(jobs) == plan.size
        for step, job in zip(plan.steps, jobs[1:], strict=True):
            assert job.region == (step.region or "us-central1")
            asked = job.job_spec.scheduling.strategy
            assert asked == {"": "SPOT", "spot": "SPOT", "flex_start": "FLEX_START", "standard": asked}[step.strategy]
            assert step.strategy != "standard" or asked not in ("SPOT", "FLEX_START")

    @given(PLANS, st.lists(st.none() | st.decimals("0", "1000", places=2), min_size=1, max_size=5))
    def test_the_worst_case_is_the_last_attempt_begun_just_below_the_limit(
        self, plan: Plan, most: list[Decimal | None]
    ) -> None:
        worst = fallback.worst_case(most, plan)

        if None in most:
            assert worst is None
            return
        known = [usd for usd in most if usd is not None]
        assert worst is not None
        assert max(known) <= worst <= sum(known)
        if plan.max_usd is not None:
            assert worst <= plan.max_usd + max(known), "an attempt begins only while less than the limit is spent"

    @pytest.mark.parametrize(
        "plan",
        [
            Plan(()), Plan((Step(),) * 5), Plan((Step("reservation"),)), Plan((Step(),), frozenset()),
            Plan((Step(),), wait_hours=0), Plan((Step(),), max_usd=Decimal("NaN")), Plan((Step("", "x" * 41),)),
            Plan((Step("", "a\x00"),)),
        ],
    )  # fmt: skip
    def test_says_what_is_wrong(self, plan: Plan) -> None:
        assert fallback.problems_of(plan)


class TestForm:
    @given(
        st.dictionaries(
            st.sampled_from([*FallbackForm.base_fields]),
            st.text(max_size=20) | st.sampled_from(["same", "spot", "standard", "on", "9"]),
        )
    )
    def test_reads_anything_as_a_plan_or_says_what_is_wrong(self, typed: dict[str, str]) -> None:
        form = FallbackForm(typed)

        if form.is_valid():
            assert form.plan is None or fallback.problems_of(form.plan) == []
        else:
            assert form.errors

    def test_reads_the_rows_in_their_order(self) -> None:
        form = FallbackForm(THEN | {"wait_hours": "6", "attempts_usd": "$120"})

        assert form.is_valid()
        assert form.plan == Plan(
            (Step("standard"), Step("", "europe-west4")), frozenset({Reason.CAPACITY}), 6, Decimal(120)
        )


@pytest.mark.django_db
class TestCompose:
    def test_requests_the_job_with_its_further_attempts(self, engineer: Client, example: dict[str, str]) -> None:
        for _ in range(2):
            answer = engineer.post("/jobs/new/", example | SHORT | THEN)

        job = Job.objects.get()
        assert answer["Location"] == f"/jobs/{job.pk}/"
        row = Fallback.objects.get()
        assert row.attempts.get().job == job
        assert [step["region"] for step in row.plan["steps"]] == ["", "europe-west4"]

    def test_tells_what_all_attempts_may_cost(self, engineer: Client, example: dict[str, str]) -> None:
        page = engineer.post("/jobs/new/check/", example | SHORT | THEN).content.decode()

        assert "All attempts together cost at most" in page

    def test_refuses_an_attempt_that_would_be_refused(self, engineer: Client, example: dict[str, str]) -> None:
        wrong = {"then_1": "same", "then_1_region": "nowhere-1", "on_capacity": "on"}

        answer = engineer.post("/jobs/new/", example | SHORT | wrong)

        assert answer.status_code == 422
        assert "Attempt 2 would be refused" in text_of(answer)
        assert not Job.objects.exists()

    def test_a_job_without_further_attempts_has_none(self, engineer: Client, example: dict[str, str]) -> None:
        engineer.post("/jobs/new/", example | SHORT)

        assert Job.objects.count() == 1
        assert not Fallback.objects.exists()


@pytest.mark.django_db
class TestPages:
    @pytest.fixture
    def second(self, engineer: Client, example: dict[str, str], clock: Clock, team: Team) -> Job:
        """The second attempt of a request, whose first got no capacity."""
        engineer.post("/jobs/new/", example | SHORT | THEN)
        first = Job.objects.get()
        from tests.domain.test_fallback_races import end

        end(first, clock, "failed")
        assert fallbacks.make_next_attempt(Fallback.objects.get().pk, now=clock.now)
        return FallbackAttempt.objects.get(number=2).job

    def test_the_job_and_the_board_tell_which_attempt_it_is(self, second: Job, engineer: Client) -> None:
        page, board = text_of(engineer.get(f"/jobs/{second.pk}/")), text_of(engineer.get("/"))

        assert "because it got no capacity in attempt 1" in page
        spanish = text_of(engineer.get(f"/jobs/{second.pk}/", headers={"accept-language": "es"}))
        assert "Intento 2 de 3, porque no obtuvo capacidad en el intento 1." in spanish
        assert "Standard" in page
        assert "attempt 2 of 3 (" in board
        first = FallbackAttempt.objects.get(number=1).job
        assert f"/jobs/{second.pk}/" in engineer.get(f"/jobs/{first.pk}/").content.decode()

    def test_the_board_asks_no_more_queries(
        self, second: Job, engineer: Client, clock: Clock, django_assert_max_num_queries: object
    ) -> None:
        for state in ("submitting", "pending", "running"):
            name = {"remote_name": f"projects/1/{second.pk}"} if state == "pending" else {}
            assert transitions.transition(second, state, now=clock.forward(seconds=5), message=state, **name)
        for path in ("/", f"/jobs/{second.pk}/"):
            engineer.get(path)
            with django_assert_max_num_queries(10):  # type: ignore[operator]
                engineer.get(path)

    def test_a_viewer_may_look_and_a_stranger_may_not(
        self, second: Job, team: Team, stranger: User, signed_in: SignIn
    ) -> None:
        viewer = User.objects.create_user("viewer")
        Membership.objects.create(team=team, user=viewer, role="viewer")

        assert "Attempts" in text_of(signed_in(viewer).get(f"/jobs/{second.pk}/"))
        assert signed_in(stranger).get(f"/jobs/{second.pk}/").status_code == 404
        assert "attempt 2 of 3" not in text_of(signed_in(stranger).get("/?who=all"))

    def test_a_cancel_on_the_page_ends_all_attempts(self, second: Job, engineer: Client) -> None:
        engineer.post(f"/jobs/{second.pk}/cancel/")

        row = Fallback.objects.get()
        assert row.outcome == "cancelled"
        assert "not made" in text_of(engineer.get(f"/jobs/{second.pk}/"))

    def test_an_approver_sees_the_whole_plan_and_its_worst_case(
        self, engineer: Client, example: dict[str, str], approver: User, signed_in: SignIn, team: Team
    ) -> None:
        engineer.post("/jobs/new/", example | {"run_time": "20 h", "timeout": "40 h"} | THEN)
        job = Job.objects.get()
        assert job.state == "awaiting_approval"

        page = text_of(signed_in(approver).get(f"/approvals/?job={job.pk}"))

        assert "Worst case" in page
        assert requests.approve(job, by=approver, comment="", now=job.requested_at)


@pytest.mark.django_db
class TestApi:
    def request(self, **changes: object) -> dict[str, object]:
        body = samples.body(**samples.limited(0.05, {}))
        further = {"steps": [{"strategy": "standard"}], "wait_hours": 6, "max_usd": "40"} | changes
        return {"spec": body, "expected_seconds": 180, "further_attempts": further}

    def test_requests_a_job_with_further_attempts_once(self, owner: User) -> None:
        api = caller(owner)
        first, again = (api.post("/jobs", self.request(), key="nightly") for _ in range(2))
        other = api.post("/jobs", self.request(wait_hours=7), key="nightly")

        assert (first.status_code, again.status_code, other.status_code) == (201, 200, 422)
        job = api.get(f"/jobs/{first.json()['job']['id']}").json()
        assert (job["fallback"]["number"], job["fallback"]["size"]) == (1, 2)
        assert job["fallback"]["words"] == "Spot → Standard"
        assert Fallback.objects.count() == 1

    @pytest.mark.parametrize(
        "wrong",
        [
            {"steps": []}, {"steps": [{}] * 5}, {"steps": [{"strategy": "persistent"}]}, {"max_usd": "0"},
            {"steps": [{"region": "a\x00"}]}, {"reasons": []}, {"reasons": ["any"]}, {"wait_hours": 0},
        ],
    )  # fmt: skip
    def test_says_what_is_wrong_and_keeps_nothing(self, wrong: dict[str, object], owner: User) -> None:
        assert caller(owner).post("/jobs", self.request(**wrong)).status_code == 422
        assert not Job.objects.exists()
