"""Tests of the board: the content of a row, whose jobs it shows, and its live part."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from jobs import budgets
from jobs.models import Approval, Budget, Job, JobMetrics, Scope, Team
from jobs.observation.log_metrics import fold_new_lines
from tests.conftest import person
from tests.pages.conftest import MakeJob, SignIn, text_in, text_of
from tests.support.clock import Clock
from tests.support.written_log import Log

pytestmark = pytest.mark.both_databases

HTMX = {"HX-Request": "true"}


class TestBoard:
    def test_groups_jobs_in_the_order_in_which_they_live(
        self, make_job: MakeJob, owner: User, signed_in: SignIn
    ) -> None:
        for state in ("succeeded", "running", "queued", "awaiting_approval"):
            make_job(state, name=f"job-{state}")

        text = text_of(signed_in(owner).get("/"))

        places = [text.index(f"job-{state}") for state in ("awaiting_approval", "queued", "running", "succeeded")]
        assert places == sorted(places)
        headings = [text.index(f"{word} 1 ") for word in ("Awaiting approval", "Waiting", "Running", "Just ended")]
        assert headings == sorted(headings)

    def test_the_strip_says_what_needs_me_what_waits_runs_failed_and_costs(
        self, make_job: MakeJob, owner: User, approver: User, signed_in: SignIn
    ) -> None:
        for state in ("awaiting_approval", "queued", "pending", "running", "succeeded", "failed"):
            make_job(state)

        mine, deciding = (text_of(signed_in(person).get("/")) for person in (owner, approver))

        assert re.search(r"1 needs you oldest \d+ s 2 waiting longest", mine), "the own job that failed"
        assert re.search(r"1 needs you oldest .* · up to \$[\d,.]+ 2 waiting", deciding), "the job to decide about"
        assert "1 running · 1 GPU next ends in" in mine
        assert "1 failed in 24 h last: resnet-prune" in mine
        assert re.search(r"\$\d+\.\d\d per hour now", mine)

    def test_a_row_says_state_reason_strategy_machines_restarts_and_cost(
        self, make_job: MakeJob, owner: User, signed_in: SignIn
    ) -> None:
        make_job("queued", name="resnet", strategy="SPOT")

        text = text_of(signed_in(owner).get("/"))

        for words in (
            "resnet",
            "QUEUED",
            "waits for Spot capacity or quota",
            "Spot",
            "1 × a2-highgpu-1g",
            "us-central1",
        ):
            assert words in text
        assert re.search(r"\$\d+\.\d\d estimated", text)
        assert "0 of 6 restarts used" in signed_in(owner).get("/").content.decode()

    def test_a_job_on_a_persistent_resource_costs_nothing_more(
        self, make_job: MakeJob, owner: User, stranger: User, signed_in: SignIn
    ) -> None:
        make_job("running", resource="night-shift")

        for address in ("/", "/history/"):
            text = text_of(signed_in(owner).get(address))
            assert "paid for already" in text
            assert "$0.00 of" not in text
            assert "paid for already" not in text_of(signed_in(stranger).get(address))

    @pytest.mark.parametrize(("state", "is_past"), [("running", False), ("pending", True), ("succeeded", True)])
    def test_only_times_to_come_are_in_the_colour_of_attention(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, state: str, *, is_past: bool
    ) -> None:
        make_job(state)

        assert ('class="c-when past"' in signed_in(owner).get("/").content.decode()) is is_past

    def test_the_second_line_says_how_long_it_ran_unless_there_is_a_reason(
        self, make_job: MakeJob, owner: User, signed_in: SignIn
    ) -> None:
        make_job("succeeded")
        make_job("failed")

        page = re.sub(r"\s+", " ", signed_in(owner).get("/").content.decode())

        assert len(re.findall(r"<small> <span[^>]*></span> ran [^<]+</small>", page)) == 2

    def test_only_who_may_act_selects_jobs(self, make_job: MakeJob, owner: User, team: Team, signed_in: SignIn) -> None:
        make_job("running")
        viewer = person("onlooker", team, "viewer")

        tables = [signed_in(each).get("/").content.decode() for each in (owner, viewer)]

        assert ['class="board read-only"' in each for each in tables] == [False, True]

    def test_an_empty_board_explains_no_drawing(self, owner: User, signed_in: SignIn) -> None:
        assert "preempted" not in text_of(signed_in(owner).get("/"))

    def test_shows_an_unknown_state_as_it_was_sent(self, make_job: MakeJob, owner: User, signed_in: SignIn) -> None:
        make_job("JOB_STATE_HIBERNATING")

        assert "unknown (JOB_STATE_HIBERNATING)" in text_of(signed_in(owner).get("/"))

    def test_shows_how_old_its_knowledge_is_and_leaves_the_state(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = make_job("running")
        Scope.objects.create(
            project=job.project, region=job.region, kind=job.kind, failing_since=clock.now, last_error="timed out"
        )
        clock.forward(seconds=40)

        text = text_of(signed_in(owner).get("/"))

        assert re.search(r"RUNNING \d+ s last seen 40 s ago", text)
        assert "Vertex AI has not answered since" in text
        assert "timed out" in text

    def test_shows_how_old_its_knowledge_is_when_nobody_looks(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        make_job("running")
        clock.forward(minutes=7)

        assert re.search(r"RUNNING 7 min \d* ?s? ?last seen 7 min ago", text_of(signed_in(owner).get("/")))

    def test_keeps_quiet_about_age_while_vertex_ai_answers(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        make_job("running")
        clock.forward(seconds=20)

        assert "last seen" not in text_of(signed_in(owner).get("/"))

    def test_says_why_a_job_waits_for_an_approval(self, make_job: MakeJob, owner: User, signed_in: SignIn) -> None:
        make_job("awaiting_approval")

        text = text_of(signed_in(owner).get("/"))

        assert "awaiting approval may exceed the team's limit 1 ×" in text
        assert "need an approval" not in text, "the whole sentence stands on the page of the job and of the approvals"

    def test_names_the_obstacle_of_a_step_that_is_repeated(
        self, make_job: MakeJob, owner: User, signed_in: SignIn
    ) -> None:
        job = make_job("submitting")
        quota = "The following quota metrics exceed quota limits: aiplatform.googleapis.com/custom_model_training_cpus"
        Job.objects.filter(pk=job.pk).update(last_error=quota)
        client = signed_in(owner)

        board, page = text_of(client.get("/")), text_of(client.get(f"/jobs/{job.pk}/"))

        assert re.search(r"submitting \d+ s Training quota is too small", board)
        assert "custom_model_training_cpus" not in board
        assert "It is short of: custom_model_training_cpus. Trainboard retries until it succeeds" in page
        Job.objects.filter(pk=job.pk).update(last_error="The moon is in the way.")
        assert "The moon is in the way." in text_of(client.get("/"))

    def test_says_so_when_it_shows_only_some_of_very_many_jobs(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for module in ("dashboard.pages.parts.board_strip", "dashboard.queries.board"):
            monkeypatch.setattr(f"{module}.MAX_JOBS", 2)
        client = signed_in(owner)
        make_job("queued")
        assert "jobs that changed last" not in text_of(client.get("/"))

        for _ in range(2):
            make_job("queued")

        assert "Only the 2 jobs that changed last are counted and shown; the history has all." in text_of(
            client.get("/")
        )

    def test_counts_the_other_reasons_for_an_approval(self, make_job: MakeJob, owner: User, signed_in: SignIn) -> None:
        approval = Approval.objects.get(job=make_job("awaiting_approval"))
        approval.findings = [
            {"code": "odd", "severity": "approval", "message": "It is Friday."},
            *approval.findings * 2,
        ]
        approval.save()

        assert "awaiting approval It is Friday. and 2 more reasons 1 ×" in text_of(signed_in(owner).get("/"))

    def test_forgets_what_ended_more_than_a_day_ago(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        make_job("succeeded", name="long-gone")
        clock.forward(hours=25)

        text = text_of(signed_in(owner).get("/"))

        assert "long-gone" not in text
        assert "No active jobs" in text

    def test_offers_the_example_to_a_new_team(self, owner: User, signed_in: SignIn) -> None:
        page = signed_in(owner).get("/").content.decode()

        assert "/jobs/new/?example=penguins" in page

    def test_says_what_the_month_has_cost_and_how_much_of_a_budget_that_is(
        self, make_job: MakeJob, owner: User, teammate: User, stranger: User, signed_in: SignIn, team: Team,
        clock: Clock,
    ) -> None:  # fmt: skip
        for whose, hours in ((owner, 5), (teammate, 3)):
            job = make_job("running")
            Job.objects.filter(pk=job.pk).update(hourly_usd=2, owner=whose)
            job.refresh_from_db()
            clock.forward(hours=hours)
            with transaction.atomic():
                budgets.record_costs([job], clock.now)
        client = signed_in(owner)

        # The first one was recorded after five hours and has run for eight, and a started minute.
        assert "$22.03 in March spent, UTC" in text_of(client.get("/"))
        assert "$16.03 in March spent, UTC" in text_of(client.get("/?who=mine"))
        assert "$0 in March spent, UTC" in text_of(signed_in(stranger).get("/"))
        Budget.objects.create(team=team, name="Training", amount_usd=20, passing="stop", created_at=clock.now)
        assert "$22.03 in March spent of $20" in text_of(client.get("/"))
        assert "of $20.00" not in text_of(client.get("/?who=mine"))

    def test_is_paged(self, make_job: MakeJob, owner: User, signed_in: SignIn) -> None:
        for number in range(53):
            make_job("approved", name=f"many-{number:02d}")

        client = signed_in(owner)
        first, second = (text_of(client.get("/", {"page": number})) for number in (1, 2))

        names = [set(re.findall(r"many-\d\d", page)) for page in (first, second)]
        assert [len(each) for each in names] == [50, 3]
        assert len(names[0] | names[1]) == 53
        assert "51–53 of 53" in second


class TestWhoseJobs:
    def test_a_stranger_sees_nothing(self, make_job: MakeJob, stranger: User, signed_in: SignIn, team: Team) -> None:
        make_job("running", name="secret-job")

        for address in ("/", "/?who=all", f"/?who={team.pk}", "/?q=secret"):
            page = signed_in(stranger).get(address)

            assert page.status_code == 200
            assert "secret-job" not in text_of(page)
            assert "0 running" in text_of(page)

    def test_a_teammate_sees_the_teams_jobs(self, make_job: MakeJob, teammate: User, signed_in: SignIn) -> None:
        make_job("running", name="ours")

        assert "ours" in text_of(signed_in(teammate).get("/"))

    def test_mine_leaves_out_the_others(
        self, make_job: MakeJob, teammate: User, owner: User, signed_in: SignIn
    ) -> None:
        make_job("running", name="theirs", by=teammate)
        make_job("running", name="my-own")

        text = text_of(signed_in(owner).get("/?who=mine"))

        assert "my-own" in text
        assert "theirs" not in text

    def test_an_admin_sees_every_team(self, make_job: MakeJob, admin: User, signed_in: SignIn) -> None:
        make_job("running", name="anywhere")

        assert "anywhere" in text_of(signed_in(admin).get("/"))

    def test_many_teams_are_chosen_from_a_menu(self, admin: User, team: Team, signed_in: SignIn) -> None:
        Team.objects.bulk_create([Team(name=f"squad {number}", project=f"squad-{number}") for number in range(3)])
        client = signed_in(admin)
        few = client.get("/").content.decode()
        Team.objects.create(name="squad 3", project="squad-3")
        many = client.get(f"/?who={team.pk}").content.decode()

        assert f'<a class="tab" href="?who={team.pk}">' in few
        assert "board-team" not in few
        assert f'<a class="tab" href="?who={team.pk}"' not in many
        assert text_in(many, "board-team").startswith(f"{team.name} All teams")
        assert f'<a href="?who={team.pk}" aria-current="true">' in many

    def test_search_narrows_the_rows(self, make_job: MakeJob, owner: User, signed_in: SignIn) -> None:
        make_job("running", name="alpha")
        make_job("queued", name="beta")

        text = text_of(signed_in(owner).get("/?q=state:running"))

        assert "alpha" in text
        assert "beta" not in text

    def test_a_search_that_finds_nothing_says_how_to_search(
        self, make_job: MakeJob, owner: User, signed_in: SignIn
    ) -> None:
        make_job("running")

        assert "No job matches “<nothing>”" in text_of(signed_in(owner).get("/?q=%3Cnothing%3E")).replace(
            "&lt;", "<"
        ).replace("&gt;", ">")


class TestFragment:
    def test_is_the_live_part_alone(self, make_job: MakeJob, owner: User, signed_in: SignIn) -> None:
        make_job("running", name="alpha")

        answer = signed_in(owner).get("/?who=mine&q=alpha", headers=HTMX)

        page = answer.content.decode()
        assert page.lstrip().startswith("<title>")
        assert '<div id="live"' in page
        assert "<html" not in page
        assert "HX-Request" in answer["Vary"]
        assert 'hx-get="/?who=mine&amp;q=alpha"' in page

    def test_a_page_from_the_browsers_history_is_whole(self, owner: User, signed_in: SignIn) -> None:
        answer = signed_in(owner).get("/", headers=HTMX | {"HX-History-Restore-Request": "true"})

        assert "<html" in answer.content.decode()

    def test_asks_less_often_while_nothing_moves(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        make_job("succeeded")

        assert 'hx-trigger="every 15s"' in signed_in(owner).get("/", headers=HTMX).content.decode()

        make_job("running")
        clock.now += timedelta(seconds=1)

        assert 'hx-trigger="every 4s"' in signed_in(owner).get("/", headers=HTMX).content.decode()


def test_a_running_row_shows_how_far_its_training_is(
    log: Log, owner: User, stranger: User, signed_in: SignIn, clock: Clock
) -> None:
    for epoch in range(1, 4):
        log.write(epoch, f"epoch {epoch}/12 loss={1 / epoch:.2f} val_accuracy={0.9 + epoch / 100:.2f}")
    fold_new_lines(log.job)
    JobMetrics.objects.filter(job=log.job).update(accelerator_share=0.734, usage_read_at=clock.now)
    page = signed_in(owner).get("/").content.decode()

    row = page[page.index(f'id="row-{log.job.pk}"') :]
    assert "epoch 3 of 12 · val_accuracy 0.93 · 73 % busy · " in row
    assert re.search(r"· [\d \w]+ left</span>", row)
    clock.forward(minutes=6)
    assert "busy" not in signed_in(owner).get("/").content.decode()
    assert "val_accuracy" not in signed_in(stranger).get("/").content.decode()
