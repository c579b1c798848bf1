"""Tests of external jobs: requesting a discovery, adopting its results, strangers, and the mark of adopted jobs."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User

from jobs import observation
from jobs.models import Discovery, ExternalJob, Job, JobMetrics, Membership, Team
from tests.pages.conftest import MakeJob, SignIn, text_of
from tests.support import samples
from tests.support.clock import Clock
from tests.support.person import forms

PLACE = {"project": "vision-research", "region": "us-central1"}
Found = Callable[..., ExternalJob]


@pytest.fixture
def discovery(team: Team, owner: User, clock: Clock) -> Discovery:
    """A discovery that was made a minute ago."""
    asked = observation.request_discovery(**PLACE, by=owner, now=clock.now)
    Discovery.objects.update(due_at=None, answered_at=clock.now)
    clock.forward(minutes=1)
    asked.refresh_from_db()
    return asked


@pytest.fixture
def found(discovery: Discovery, clock: Clock) -> Found:
    """`found("theirs", state=...)` is a job that the discovery found."""

    def make(name: str = "theirs", *, state: str = "JOB_STATE_RUNNING", **more: Any) -> ExternalJob:
        number = 1_000 + ExternalJob.objects.count()
        remote_name = f"projects/1/locations/us-central1/customJobs/{number}"
        at = (clock.now - timedelta(hours=2)).isoformat()
        body = samples.body(name=name, **more) | {"name": remote_name, "state": state, "createTime": at}
        if state == "JOB_STATE_RUNNING":
            body |= {"startTime": at, "updateTime": at}
        return discovery.found.create(
            kind="custom_job", remote_name=remote_name, display_name=name, state=state, body=body,
            created_at=clock.now - timedelta(hours=2),
        )  # fmt: skip

    return make


class TestLooking:
    def test_says_that_nobody_has_looked_and_lets_a_worker_do_it(
        self, team: Team, owner: User, signed_in: SignIn
    ) -> None:
        client = signed_in(owner)
        assert "Not searched yet" in text_of(client.get("/jobs/adopt/"))

        page = client.post("/jobs/adopt/look/", PLACE, follow=True)

        assert Discovery.objects.get().due_at is not None
        assert "Searching us-central1 , requested by owner" in text_of(page)
        assert 'hx-trigger="every 2s"' in page.content.decode()

    def test_says_when_it_was_last_done_and_asks_no_more(
        self, discovery: Discovery, owner: User, signed_in: SignIn
    ) -> None:
        page = signed_in(owner).get("/jobs/adopt/", PLACE)

        assert "Last searched 1 min ago , 30 d" in text_of(page)
        assert "0 jobs found" in text_of(page)
        assert "No external jobs" in text_of(page)
        assert "every 2s" not in page.content.decode()

    def test_says_what_went_wrong(self, discovery: Discovery, owner: User, signed_in: SignIn, clock: Clock) -> None:
        Discovery.objects.update(last_error="Permission denied for list.")
        assert "Permission denied for list." in text_of(signed_in(owner).get("/jobs/adopt/", PLACE))

        Discovery.objects.update(due_at=clock.now)
        assert "The next search starts soon. Permission denied for list." in text_of(
            signed_in(owner).get("/jobs/adopt/", PLACE)
        )

    def test_a_fragment_brings_only_the_list(self, found: Found, owner: User, signed_in: SignIn) -> None:
        found("theirs")

        page = signed_in(owner).get("/jobs/adopt/", PLACE, headers={"HX-Request": "true"}).content.decode()

        assert page.lstrip().startswith('<div id="results"')
        assert "theirs" in page

    @pytest.mark.parametrize("place", [{"project": "speech-research"}, {"region": "atlantis"}])
    def test_a_place_that_is_not_one_s_own_is_not_looked_at(
        self, team: Team, other_team: Team, owner: User, signed_in: SignIn, place: dict[str, str]
    ) -> None:
        client = signed_in(owner)

        assert client.get("/jobs/adopt/", PLACE | place).status_code == 200
        assert client.post("/jobs/adopt/look/", PLACE | place).status_code == 404
        assert not Discovery.objects.exists()


class TestFound:
    def test_each_is_told_in_a_row(self, found: Found, owner: User, signed_in: SignIn) -> None:
        found("theirs", state="JOB_STATE_RUNNING", labels={"trainboard_instance": "berlin"})

        text = text_of(signed_in(owner).get("/jobs/adopt/", PLACE))

        assert "theirs custom job Another Trainboard created the job: berlin. RUNNING Spot 1 × a2-highgpu-1g" in text
        assert "Adopt into vision" in text

    def test_a_name_narrows_the_list(self, found: Found, owner: User, signed_in: SignIn) -> None:
        for name in ("resnet-1", "bert-1"):
            found(name)
        client = signed_in(owner)

        page = client.get("/jobs/adopt/", PLACE | {"q": "RES"}).content.decode()

        assert "resnet-1" in page
        assert "bert-1" not in page
        assert "No found job&#x27;s name holds" not in page
        assert "No job name contains “zebra”" in text_of(client.get("/jobs/adopt/", PLACE | {"q": "zebra"}))

    def test_the_number_of_queries_does_not_grow(
        self, found: Found, owner: User, signed_in: SignIn, django_assert_max_num_queries: Any
    ) -> None:
        for number in range(60):
            found(f"job-{number}")
        client = signed_in(owner)

        with django_assert_max_num_queries(10):
            page = client.get("/jobs/adopt/", PLACE)

        assert page.content.decode().partition("</main>")[0].count('type="checkbox"') == 50
        assert "1–50 of 60" in text_of(page)

    def test_a_strange_body_breaks_nothing(self, found: Found, owner: User, signed_in: SignIn) -> None:
        row = found("theirs")
        for body in ({}, {"jobSpec": "x", "labels": 7}, {"jobSpec": {"workerPoolSpecs": [7]}}):
            ExternalJob.objects.filter(pk=row.pk).update(body=body)
            assert "theirs" in text_of(signed_in(owner).get("/jobs/adopt/", PLACE))


class TestAdopting:
    def test_the_chosen_ones_are_followed_from_then_on(
        self, team: Team, found: Found, owner: User, signed_in: SignIn
    ) -> None:
        chosen, left = [found("one"), found("two")], found("three")
        client = signed_in(owner)

        page = client.post(
            "/jobs/adopt/take/", {"job": [row.pk for row in chosen], "team": team.pk, **PLACE}, follow=True
        )

        assert "vision adopted one, two." in text_of(page)
        assert set(Job.objects.values_list("display_name", "is_adopted")) == {("one", True), ("two", True)}
        assert ExternalJob.objects.get() == left

    @pytest.mark.parametrize("state", ["JOB_STATE_RUNNING", "JOB_STATE_QUEUED"])
    def test_an_external_job_has_no_estimate_but_may_have_a_price(
        self, found: Found, team: Team, owner: User, stranger: User, signed_in: SignIn, state: str, make_job: MakeJob
    ) -> None:
        client = signed_in(owner)
        client.post("/jobs/adopt/take/", {"job": [found(state=state).pk], "team": team.pk, **PLACE})
        job = Job.objects.get()
        Job.objects.update(hourly_usd=2)
        ours = make_job("failed")
        addresses = ("/", f"/jobs/several/?action=cancel&job={job.pk}", f"/compare/?a={job.pk}&b={ours.pk}")

        texts = [text_of(client.get(address)) for address in addresses]

        assert not any("no price known" in text for text in texts)
        assert ["not estimated" in text for text in texts] == [state == "JOB_STATE_QUEUED", True, True]
        assert not any("theirs" in text_of(signed_in(stranger).get(address)) for address in addresses)

    def test_the_log_says_how_long_an_external_job_still_runs(
        self, found: Found, team: Team, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        client = signed_in(owner)
        client.post("/jobs/adopt/take/", {"job": [found().pk], "team": team.pk, **PLACE})
        job = Job.objects.get()
        assert "its expected run time is not known" in text_of(client.get(f"/jobs/{job.pk}/"))
        JobMetrics.objects.update_or_create(job=job, defaults={"ends_at": clock.now + timedelta(minutes=3)})

        text = text_of(client.get(f"/jobs/{job.pk}/"))

        assert "About 3 min left, judging by the progress in its log." in text
        assert "its expected run time is not known" not in text

    def test_the_form_of_the_page_adopts(self, found: Found, owner: User, signed_in: SignIn) -> None:
        row, client = found("theirs"), signed_in(owner)
        page = client.get("/jobs/adopt/", PLACE).content.decode()
        form = next(form for form in forms(page) if form.action == "/jobs/adopt/take/")

        answer = client.post(form.action, form.values | {"job": row.pk}, follow=True)

        assert "vision adopted theirs." in text_of(answer)
        assert Job.objects.get().is_adopted

    def test_none_chosen_or_one_that_is_gone_is_told(
        self, team: Team, found: Found, owner: User, signed_in: SignIn
    ) -> None:
        client = signed_in(owner)
        for keys in ([], ["999"], ["x", "-1", "9" * 30]):
            page = client.post("/jobs/adopt/take/", {"job": keys, "team": team.pk, **PLACE}, follow=True)
            assert "No job was adopted: choose one that is not adopted yet." in text_of(page)

    def test_one_that_another_team_follows_is_told(
        self, team: Team, found: Found, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        other = Team.objects.create(name="vision-2", project=team.project)
        Membership.objects.create(team=other, user=owner, role="engineer")
        row = found("theirs")
        first = observation.adopt(row, team=other, by=owner, now=clock.now)
        ExternalJob.objects.bulk_create([row])  # as a page that was opened before shows it

        page = signed_in(owner).post("/jobs/adopt/take/", {"job": [row.pk], "team": team.pk, **PLACE}, follow=True)

        assert "theirs: Another team already follows this job." in text_of(page)
        assert Job.objects.get().team_id == first.team_id

    def test_with_several_teams_one_is_chosen(self, team: Team, found: Found, owner: User, signed_in: SignIn) -> None:
        other = Team.objects.create(name="vision-2", project=team.project)
        Membership.objects.create(team=other, user=owner, role="engineer")
        found("theirs")

        page = signed_in(owner).get("/jobs/adopt/", PLACE).content.decode()

        assert f'<option value="{other.pk}">vision-2</option>' in page


class TestStranger:
    def test_sees_and_does_nothing(self, team: Team, found: Found, stranger: User, signed_in: SignIn) -> None:
        row = found("secret")
        client = signed_in(stranger)

        page = client.get("/jobs/adopt/", PLACE)
        assert "secret" not in page.content.decode()
        assert client.post("/jobs/adopt/look/", PLACE).status_code == 404
        assert client.post("/jobs/adopt/take/", {"job": [row.pk], "team": team.pk}).status_code == 404
        own = Team.objects.get(name="speech")
        client.post("/jobs/adopt/take/", {"job": [row.pk], "team": own.pk})
        assert not Job.objects.exists()

    def test_a_viewer_is_told_who_may(self, team: Team, found: Found, owner: User, signed_in: SignIn) -> None:
        Membership.objects.update(role="viewer")
        client = signed_in(owner)

        for answer in (client.get("/jobs/adopt/", PLACE), client.post("/jobs/adopt/look/", PLACE)):
            assert answer.status_code == 403
            assert "you are not an engineer, approver or lead of any team" in text_of(answer)


class TestAdopted:
    @pytest.fixture
    def job(self, team: Team, found: Found, owner: User, clock: Clock) -> Job:
        """A job that was adopted while it ran."""
        return observation.adopt(found("theirs"), team=team, by=owner, now=clock.now)

    @pytest.mark.parametrize("page", ["/", "/history/", "/jobs/{}/"])
    def test_every_page_marks_it(self, job: Job, owner: User, signed_in: SignIn, page: str) -> None:
        text = text_of(signed_in(owner).get(page.format(job.pk)))

        assert "external job, read only" in text
        assert "est. –" not in text

    def test_its_page_says_who_adopted_it_and_offers_no_verb(self, job: Job, owner: User, signed_in: SignIn) -> None:
        page = signed_in(owner).get(f"/jobs/{job.pk}/")
        text = text_of(page)

        assert "Adopted by owner" in text
        assert "owner adopted 1000, which was created outside Trainboard" in text
        assert "Trainboard did not poll this job for a while" in text
        assert "its expected run time is not known" in text
        assert f"/jobs/{job.pk}/cancel/" not in page.content.decode()

    def test_it_can_be_cloned_compared_and_kept_as_a_template(self, job: Job, owner: User, signed_in: SignIn) -> None:
        client = signed_in(owner)

        clone = client.get("/jobs/new/", {"job": job.pk})
        assert clone.status_code == 200
        assert "A copy of theirs, which owner adopted." in text_of(clone)
        assert client.get("/compare/", {"a": job.pk, "b": job.pk}).status_code == 200
        assert client.get(f"/jobs/{job.pk}/spec.json").json()["displayName"] == "theirs"
        kept = client.post(f"/jobs/{job.pk}/template/", {"name": "kept"})
        assert kept.status_code == 302

    def test_is_offered_calmly_where_people_look(self, team: Team, owner: User, signed_in: SignIn) -> None:
        client = signed_in(owner)

        for page in ("/", "/history/", "/jobs/import/"):
            assert 'href="/jobs/adopt/"' in client.get(page).content.decode()
