"""Tests of the figures on a job's page in each state, its expected end, and the timeline of a young job."""

import html
import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User

from dashboard.drawing.curves import Curve, clipped, draw_curve
from dashboard.drawing.figures import duration
from dashboard.drawing.scale import Scale
from jobs import transitions
from jobs.metrics import Record, Series
from jobs.models import Job, JobEvent, JobMetrics, LogLine
from jobs.texts import joined, quotation, translatable
from jobs.translations import pieces
from tests.pages.conftest import MakeJob, SignIn, text_of, with_timeout
from tests.pages.test_job_training import preempt, train
from tests.support.api import caller
from tests.support.clock import Clock

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
ENDED = "The replica workerpool0-0 exited with a non-zero status of 2. Termination reason: Error. \n"
ARGUMENT = "train.py: error: unrecognized arguments: --epoch-count 40"


def strip_text(page: str) -> str:
    """Return the text of the strip."""
    found = re.search(r'<div class="strip job-strip">(.*?)<section class="job-time"', page, re.DOTALL)
    assert found is not None
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", found[1])).split())


class TestStrip:
    def shown(self, job: Job, owner: User, signed_in: SignIn) -> str:
        return strip_text(signed_in(owner).get(f"/jobs/{job.pk}/").content.decode())

    def test_an_awaiting_job_tells_its_cost_and_who_decides(
        self, make_job: MakeJob, owner: User, stranger: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = make_job("awaiting_approval")
        clock.forward(minutes=20)

        text = self.shown(job, owner, signed_in)

        assert re.match(r"\$[\d,.]+ expected cost \$[\d,.]+ – \$[\d,.]+", text)
        assert "20 min waits for approval an approver or lead of vision decides" in text
        assert "12 h expected run time" in text
        assert signed_in(stranger).get(f"/jobs/{job.pk}/").status_code == 404

    def test_a_waiting_job_leads_with_its_wait_and_when_it_gives_up(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        earlier = make_job("pending", strategy="FLEX_START")
        transitions.transition(earlier, "running", now=clock.forward(minutes=10), message="It runs.")
        job = make_job("queued", strategy="FLEX_START")
        clock.forward(minutes=5)

        text = self.shown(job, owner, signed_in)

        assert re.match(r"5 min( \d+ s)? waited usually 10 min", text)
        assert "until it gives up at" in text
        assert "an hour of running nothing is billed before" in text

    def test_a_failed_job_does_not_lead_with_its_share_of_the_expected_time(
        self, make_job: MakeJob, owner: User, signed_in: SignIn
    ) -> None:
        job = make_job("failed")

        text = self.shown(job, owner, signed_in)

        assert re.match(r"\d+ s ran waited", text)
        assert "expected run time" not in text

    def test_a_failed_job_tells_how_far_its_log_came(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = make_job("running")
        train(job, clock, 1, 6)
        transitions.transition(job, "failed", now=clock.forward(minutes=1), message="It failed.")

        assert "30 % epoch 6 of 20 from its log" in self.shown(job, owner, signed_in)
        Job.objects.filter(pk=job.pk).update(log_complete=True)
        assert "30 % epoch 6 of 20 when it ended" in self.shown(job, owner, signed_in)

    def test_a_job_that_runs_longer_than_expected_is_not_called_done(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = make_job("running")
        clock.forward(minutes=12)

        assert self.shown(job, owner, signed_in).startswith("200 % 12 min of 6 min of the expected run time")

    def test_a_job_that_waits_again_leads_with_that_wait(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = make_job("running")
        transitions.transition(job, "pending", now=clock.forward(minutes=2), message="It is pending again.")
        clock.forward(minutes=7)

        waiting = self.shown(job, owner, signed_in)
        transitions.transition(job, "running", now=clock.now, message="It runs again.")
        runs = self.shown(job, owner, signed_in)

        first = (job.started_at - job.approved_at).total_seconds()
        assert waiting.startswith(f"7 min waits for machines again waited {duration(first + 420)} in all")
        assert f"waited {duration(first + 420)}" in runs

    def test_lists_exports_and_the_api_add_all_waits(
        self, make_job: MakeJob, owner: User, stranger: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = make_job("running", name="clip")
        first = (job.started_at - job.approved_at).total_seconds()
        preempt(job, clock, wait=8)
        preempt(job, clock, wait=5)
        transitions.transition(job, "succeeded", now=clock.forward(minutes=4), message="It succeeded.")
        browser = signed_in(owner)

        records = json.loads(b"".join(browser.get("/history/jobs.json").streaming_content))
        shown = duration(first + 13 * 60)

        assert [record["waited_seconds"] for record in records] == [first + 13 * 60]
        assert caller(owner).get(f"/jobs/{job.pk}").json()["waited_seconds"] == first + 13 * 60
        assert f'data-label="waited">{shown}<' in browser.get("/history/").content.decode()
        assert f"waited {shown}" in self.shown(job, owner, signed_in)
        assert "clip" not in text_of(signed_in(stranger).get("/history/"))

    def test_a_job_that_never_ran_was_not_billed(self, make_job: MakeJob, owner: User, signed_in: SignIn) -> None:
        job = make_job("queued")
        transitions.transition(job, "cancelled", now=job.state_since + timedelta(minutes=3), message="Cancelled.")

        text = self.shown(job, owner, signed_in)

        assert "waited never ran $0.00 nothing was billed" in text


class TestEnd:
    def test_the_expected_end_has_the_range_of_the_estimate(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = with_timeout(make_job("running"), 24)
        estimate = {"usd_per_hour": "2", "low_usd": "2", "high_usd": "8"}
        Job.objects.filter(pk=job.pk).update(expected_seconds=7_200, estimate=estimate)

        text = text_of(signed_in(owner).get(f"/jobs/{job.pk}/"))

        at = [f"{clock.now + timedelta(hours=hours):%H:%M}" for hours in (2, 1, 4)]
        assert f"ends about {at[0]} UTC ( {at[1]} – {at[2]} )" in text

    def test_the_pace_of_the_log_comes_first_also_in_the_advice(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = make_job("running")
        train(job, clock, 1, 10)

        text = text_of(signed_in(owner).get(f"/jobs/{job.pk}/"))

        assert f"ends about {clock.now + timedelta(minutes=100):%H:%M} UTC" in text
        assert "About 1 h 40 min left, judging by the progress in its log." in text

    def test_a_timeout_before_the_expected_end_is_the_end(
        self, make_job: MakeJob, owner: User, stranger: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = with_timeout(make_job("running"), 1)
        Job.objects.filter(pk=job.pk).update(expected_seconds=7_200)

        text = text_of(signed_in(owner).get(f"/jobs/{job.pk}/"))

        at = f"{clock.now + timedelta(hours=1):%H:%M}"
        assert f"will not finish before its timeout at {at} UTC" in text
        assert "ends about" not in text
        assert "Its timeout ends it in 1 h, before its expected end." in text
        assert f"Timeout {at} UTC before the expected end" in text
        assert "times out" in text_of(signed_in(owner).get("/"))
        assert signed_in(stranger).get(f"/jobs/{job.pk}/").status_code == 404

    def test_an_end_on_another_day_has_its_day(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = with_timeout(make_job("running"), 96)
        Job.objects.filter(pk=job.pk).update(expected_seconds=180_000, estimate={})
        at = clock.now + timedelta(hours=50)

        assert f"ends about {at.day} {at:%b, %H:%M} UTC" in text_of(signed_in(owner).get(f"/jobs/{job.pk}/"))


class TestAxis:
    @pytest.fixture
    def young(self, make_job: MakeJob, clock: Clock) -> Job:
        job = with_timeout(make_job("running"), 24)
        Job.objects.filter(pk=job.pk).update(expected_seconds=7_200)
        clock.forward(seconds=20)
        return job

    def test_a_young_job_is_drawn_with_what_has_passed(self, young: Job, owner: User, signed_in: SignIn) -> None:
        client = signed_in(owner)
        page = client.get(f"/jobs/{young.pk}/").content.decode()

        assert 'aria-current="true">So far' in page
        assert 'class="expected open"' in page
        now = re.search(r'class="now-line" x1="([\d.]+)%"', page)
        assert now is not None
        assert 75 < float(now[1]) < 85

    def test_all_of_it_is_a_click_away(self, young: Job, owner: User, signed_in: SignIn) -> None:
        page = signed_in(owner).get(f"/jobs/{young.pk}/?zoom=all").content.decode()

        assert 'aria-current="true">All' in page
        assert 'class="expected open"' not in page

    def test_the_key_names_only_what_is_drawn(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = make_job("running")
        before = self.key(signed_in(owner).get(f"/jobs/{job.pk}/").content.decode())
        preempt(job, clock)
        after = self.key(signed_in(owner).get(f"/jobs/{job.pk}/?zoom=all").content.decode())

        assert "ran" in before
        assert "approval" not in before
        assert "preempted" not in before
        assert "preempted" in after

    def key(self, page: str) -> list[str]:
        found = re.search(r'<span class="key">(.*?)<span class="space">', page, re.DOTALL)
        assert found is not None
        return re.sub(r"<[^>]+>", " ", found[1]).split()

    def test_a_line_that_began_before_the_axis_comes_in_at_its_edge(self) -> None:
        scale = Scale(NOON, NOON + timedelta(hours=1))
        line = [(NOON - timedelta(hours=1), 0.0), (NOON + timedelta(hours=1), 10.0)]

        assert clipped([line, line[:1]], scale) == [[(NOON, 5.0), line[1]]]
        drawing = draw_curve(Curve("cost", "cost", "cost", [line], floor=0.0), scale)
        assert 'd="M0.0 32.0L1000.0 5.0"' in drawing

    def test_use_is_drawn_out_of_all(self) -> None:
        scale = Scale(NOON, NOON + timedelta(hours=1))
        curve = Curve("CPU use", "", "use", [[(NOON, 0.5), (scale.end, 0.5)]], floor=0.0, ceiling=1.0, height=40)

        assert 'd="M0.0 20.0L1000.0 20.0"' in draw_curve(curve, scale)

    def test_the_cost_of_the_last_hour_is_a_line_without_a_cliff(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = make_job("running")
        Job.objects.filter(pk=job.pk).update(hourly_usd=6, expected_seconds=40_000)
        clock.forward(hours=3)

        page = signed_in(owner).get(f"/jobs/{job.pk}/?zoom=hour").content.decode()

        assert re.search(r'class="curve cost" vector-effect="non-scaling-stroke" d="M0\.0 [\d.]+L1000\.0 5\.0"', page)
        assert 'class="curve expected cost"' not in page

    def test_the_curve_ends_at_what_is_billed(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = make_job("running")
        Job.objects.filter(pk=job.pk).update(hourly_usd=120)
        transitions.transition(job, "succeeded", now=clock.forward(seconds=31), message="It succeeded.")

        text = signed_in(owner).get(f"/jobs/{job.pk}/").content.decode()

        assert 'aria-label="cost: $2.00 after 31 s of running"' in text

    def test_use_that_was_measured_outside_the_axis_has_no_lane(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = make_job("running")
        series = Series("CPU", "replica")
        series.add(((clock.now + timedelta(hours=9)).timestamp(), None, 0.5))
        JobMetrics.objects.create(job=job, usage=Record([series]).as_json())

        assert "CPU use, all replicas" not in signed_in(owner).get(f"/jobs/{job.pk}/").content.decode()

    def test_a_lane_without_anything_in_the_shown_time_is_left_out(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = make_job("running")
        preempt(job, clock)
        page = signed_in(owner).get(f"/jobs/{job.pk}/?zoom=attempt").content.decode()

        assert 'aria-label="Trainboard: ' not in page
        assert 'aria-label="Vertex AI: ' in page


class TestAttempts:
    def test_each_wait_ends_where_the_next_attempt_begins(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = make_job("pending")
        for _ in range(2):
            transitions.record_event(
                job, JobEvent.Kind.RESTARTED, now=clock.forward(minutes=10), message="Out of capacity.",
                once_key=str(clock.now), reason="stockout",
            )  # fmt: skip
        transitions.transition(job, "failed", now=clock.forward(minutes=10), message="It failed.")

        text = text_of(signed_in(owner).get(f"/jobs/{job.pk}/"))

        assert re.search(r"Work lost 1 10 min – 0 s .*? 2 10 min – 0 s .*? 3 10 min", text)

    def test_a_program_that_logs_before_it_is_running_begins_a_new_line(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = make_job("running")
        train(job, clock, 1, 3)
        clock.forward(minutes=4)
        transitions.transition(job, "pending", now=clock.now, message="It is pending again.")
        transitions.record_event(
            job, JobEvent.Kind.RESTARTED, now=clock.now, message="Preempted.", once_key="x", reason="preempted"
        )
        train(job, clock, 4, 4, minutes=2)
        transitions.transition(job, "running", now=clock.forward(seconds=1), message="It runs again.")
        train(job, clock, 5, 6)

        page = signed_in(owner).get(f"/jobs/{job.pk}/").content.decode()

        assert page.count('class="curve metric"') == 2

    def test_a_replica_that_is_started_again_begins_a_new_line(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = make_job("running")
        train(job, clock, 1, 3)
        transitions.record_event(
            job, JobEvent.Kind.RESTARTED, now=clock.forward(minutes=1), message="It was moved.", once_key="x",
            reason="maintenance", detail={"replica": "workerpool0-0"},
        )  # fmt: skip
        train(job, clock, 1, 3)

        assert signed_in(owner).get(f"/jobs/{job.pk}/").content.decode().count('class="curve metric"') == 2

    @pytest.mark.parametrize(("wait", "minutes"), [(8, 10), (0.1, 0.05)])
    def test_nothing_is_lost_where_the_progress_only_grew(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock, wait: float, minutes: float
    ) -> None:
        """Not even of a job of the rehearsal, whose attempts take seconds."""
        job = make_job("running")
        Job.objects.filter(pk=job.pk).update(hourly_usd=6)
        train(job, clock, 1, 6)
        preempt(job, clock, wait=wait)
        train(job, clock, 7, 10, minutes=minutes)

        text = text_of(signed_in(owner).get(f"/jobs/{job.pk}/"))

        assert "0 s · $0.00 from the progress logged after the restart" in text
        assert "Lost to restarts" not in text


class TestDiagnosis:
    def test_what_the_program_wrote_is_code_and_the_fix_says_what_it_does(
        self, make_job: MakeJob, owner: User, signed_in: SignIn
    ) -> None:
        job = make_job("failed", error={"code": 3, "message": f"{ENDED}{ARGUMENT}"})

        page = signed_in(owner).get(f"/jobs/{job.pk}/").content.decode()

        said = rf'words of workerpool0-0: <code\s+lang="en" translate="no">{ARGUMENT}</code>'
        assert len(re.findall(said, page)) == 1
        assert ">Edit a copy</a>" in page
        assert 'href="?level=ERROR#log">Errors in the log</a>' in page
        assert "Run a copy" not in page

    def test_pieces_of_a_text_tell_quotations_from_words(self) -> None:
        said = translatable("100 %% sure: %(words)s.", words=quotation("Done."))

        assert list(pieces(joined("First.", said))) == [
            ("", False), ("First.", False), (" ", False), ("100 % sure: ", False), ("Done", True), (".", False),
            ("", False),
        ]  # fmt: skip
        assert str(said) == "100 % sure: “Done”."


def test_a_metrics_row_without_an_end_keeps_the_expected_run_time(
    make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
) -> None:
    job = make_job("running")
    LogLine.objects.create(job=job, timestamp=clock.now, insert_id="1", replica="workerpool0-0", message="loss 1")
    JobMetrics.objects.create(job=job)

    assert "left of the expected run time." in text_of(signed_in(owner).get(f"/jobs/{job.pk}/"))


class TestCancel:
    def test_the_page_tells_what_work_a_cancellation_loses(
        self, make_job: MakeJob, owner: User, stranger: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = make_job("running")
        Job.objects.filter(pk=job.pk).update(hourly_usd=6)
        clock.forward(minutes=10)
        address = f"/jobs/{job.pk}/cancel/"

        assert "Work lost 10 min · $1.00 the whole attempt" in text_of(signed_in(owner).get(address))
        saved = (clock.now - timedelta(minutes=2)).timestamp()
        JobMetrics.objects.create(job=job, checkpoints=[[saved, "ckpt-9", 1_000]])
        assert "Work lost 2 min · $0.20 since the newest checkpoint" in text_of(signed_in(owner).get(address))
        assert signed_in(stranger).get(address).status_code == 404
