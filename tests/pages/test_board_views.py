"""Tests of the board's views: needs me, groups, sorting, columns, saved views, and unchanged parts."""

import re
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.test import Client

from jobs import transitions
from jobs.models import Job, JobMetrics, Membership, SavedView, Team
from jobs.requests import MAX_VIEWS
from tests.pages.conftest import MakeJob, SignIn, text_of, with_timeout
from tests.support.clock import Clock

HTMX = {"HX-Request": "true"}
QUOTA_ERROR = {"code": 8, "message": "The replica workerpool0-0 ran out of memory. Termination reason: OOMKilled."}


def names_in(page: Any) -> list[str]:
    """Return the names of the jobs on the board, in order."""
    return re.findall(r"<bdi>([^<]+)</bdi>", page.content.decode())


class TestNeedsMe:
    def test_is_what_i_may_decide_and_my_own_failures(
        self, make_job: MakeJob, owner: User, teammate: User, approver: User, signed_in: SignIn
    ) -> None:
        make_job("awaiting_approval", name="asked")
        make_job("failed", name="broken")
        make_job("failed", name="not-mine", by=teammate)
        make_job("running", name="fine")

        assert names_in(signed_in(owner).get("/?view=needs-me")) == ["broken"]
        assert names_in(signed_in(approver).get("/?view=needs-me")) == ["asked"]

    def test_a_failure_that_was_run_again_needs_nobody(self, make_job: MakeJob, owner: User, signed_in: SignIn) -> None:
        broken, again = make_job("failed", name="broken"), make_job("running", name="again")
        Job.objects.filter(pk=again.pk).update(cloned_from=broken)

        page = signed_in(owner).get("/?view=needs-me")

        assert "Nothing needs you" in text_of(page)

    def test_stands_first_however_the_rows_are_grouped(
        self, make_job: MakeJob, owner: User, teammate: User, signed_in: SignIn
    ) -> None:
        make_job("running", name="alpha", by=teammate)
        make_job("failed", name="broken")
        client = signed_in(owner)

        for group in ("state", "owner", "strategy"):
            assert names_in(client.get("/", {"group": group})) == ["broken", "alpha"]

    def test_a_stranger_needs_to_do_nothing(self, make_job: MakeJob, stranger: User, signed_in: SignIn) -> None:
        make_job("awaiting_approval")
        make_job("failed")

        page = signed_in(stranger).get("/?view=needs-me")

        assert names_in(page) == []
        assert "0 need you" in text_of(page)


class TestOrder:
    def test_what_ends_next_comes_first(self, make_job: MakeJob, owner: User, signed_in: SignIn) -> None:
        for name, seconds in (("later", 7_200), ("soon", 600), ("between", 3_600)):
            job = with_timeout(make_job("running", name=name), 24)
            Job.objects.filter(pk=job.pk).update(expected_seconds=seconds)

        assert names_in(signed_in(owner).get("/")) == ["soon", "between", "later"]

    def test_by_name_by_wait_and_by_cost(self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock) -> None:
        for name, hourly in (("cheap", 1), ("dear", 9), ("b-middle", 5)):
            job = make_job("running", name=name)
            Job.objects.filter(pk=job.pk).update(hourly_usd=hourly)
        clock.forward(hours=1)
        client = signed_in(owner)

        assert names_in(client.get("/?sort=name")) == ["b-middle", "cheap", "dear"]
        assert names_in(client.get("/?sort=cost")) == ["dear", "b-middle", "cheap"]
        assert 'aria-sort="ascending"' in client.get("/?sort=name").content.decode()

    def test_what_is_unknown_in_the_address_counts_as_absent(
        self, make_job: MakeJob, owner: User, signed_in: SignIn
    ) -> None:
        make_job("running", name="alpha")

        page = signed_in(owner).get("/?sort=x&group=y&hours=999&page=z&hide=job&who=17&view=a")

        assert names_in(page) == ["alpha"]

    def test_columns_can_be_hidden(self, make_job: MakeJob, owner: User, signed_in: SignIn) -> None:
        make_job("running")
        client = signed_in(owner)

        assert "Restarts" in text_of(client.get("/"))
        hidden = client.get("/?hide=restarts&hide=times")
        assert "Restarts" not in text_of(hidden)
        assert 'class="times"' not in hidden.content.decode()
        assert "Show restarts" in text_of(hidden)


class TestRow:
    def test_draws_and_tells_how_long_it_waited_and_ran(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        job = make_job("running")
        Job.objects.filter(pk=job.pk).update(expected_seconds=7_200)
        clock.forward(hours=1)

        page = signed_in(owner).get("/").content.decode()

        label = re.search(r'class="times" role="img" aria-label="([^"]+)"', page)
        assert label is not None
        assert re.search(r"waited 10 s, .*ran 1 h, expected until \d\d:\d\d UTC", label[1])
        assert all(f'class="bar-{look}"' in page for look in ("wait", "run", "expected"))

    def test_says_how_far_the_training_is_by_its_log(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        soon, later = make_job("running", name="by-log"), make_job("running", name="by-hand")
        ends_at = clock.now + timedelta(minutes=3)
        JobMetrics.objects.create(job=soon, fraction=0.62, ends_at=ends_at)
        Job.objects.update(expected_seconds=7_200)

        page = signed_in(owner).get("/")

        assert names_in(page) == ["by-log", "by-hand"]
        assert "62 %" in text_of(page)
        assert f"{ends_at:%H:%M} ends by-log" in text_of(page)
        assert later.display_name in text_of(page)

    def test_offers_the_next_action(self, make_job: MakeJob, owner: User, approver: User, signed_in: SignIn) -> None:
        asked, broken = make_job("awaiting_approval"), make_job("failed", error=QUOTA_ERROR)
        running = make_job("running")

        mine, deciding = (signed_in(person).get("/").content.decode() for person in (owner, approver))

        assert f'href="/jobs/{running.pk}/cancel/"' in mine
        assert re.search(rf'href="/jobs/new/\?job={broken.pk}&amp;fix=\w+"', mine)
        assert f'formaction="/jobs/{asked.pk}/decide/?amount={asked.max_usd}"' not in mine
        assert f'formaction="/jobs/{asked.pk}/decide/?amount={asked.max_usd}"' in deciding

    def test_a_viewer_is_offered_none(self, make_job: MakeJob, teammate: User, signed_in: SignIn) -> None:
        Membership.objects.filter(user=teammate).update(role="viewer")
        job = make_job("running")

        page = signed_in(teammate).get("/").content.decode()

        assert f"/jobs/{job.pk}/cancel/" not in page

    def test_is_approved_from_the_board(self, make_job: MakeJob, approver: User, signed_in: SignIn) -> None:
        make_job("awaiting_approval")
        client, form = signed_in(approver), {"decision": "approve", "back": "board"}
        shown = re.search(
            r'form="decide" name="decision" value="approve"\s+formaction="([^"]+)"', client.get("/").content.decode()
        )
        assert shown is not None

        answer = client.post(shown[1], form)

        assert answer.headers["Location"] == "/"
        assert Job.objects.get().state == "approved"

    def test_is_not_approved_where_the_board_shows_another_amount(
        self, make_job: MakeJob, approver: User, signed_in: SignIn
    ) -> None:
        job = make_job("awaiting_approval")

        form = {"decision": "approve", "back": "board"}
        answer = signed_in(approver).post(f"/jobs/{job.pk}/decide/?amount={(job.max_usd or 0) + 1}", form)

        assert answer.headers["Location"] == f"/jobs/{job.pk}/"
        assert Job.objects.get().state == "awaiting_approval"

    def test_a_name_of_html_and_right_to_left_text_stays_a_name(
        self, make_job: MakeJob, owner: User, signed_in: SignIn
    ) -> None:
        job = make_job("running")
        Job.objects.filter(pk=job.pk).update(display_name="<b>שלום\u202e</b>" + "🚂" * 100)

        page = signed_in(owner).get("/").content.decode()

        assert "<bdi>&lt;b&gt;שלום" in page


class TestLivePart:
    def shown(self, client: Client) -> str:
        found = re.search(r'"X-Shown-Version": "(\w+)"', client.get("/", headers=HTMX).content.decode())
        assert found is not None
        return found[1]

    def test_nothing_is_sent_while_nothing_has_changed(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, django_assert_max_num_queries: Any
    ) -> None:
        make_job("running")
        client = signed_in(owner)
        version = self.shown(client)

        with django_assert_max_num_queries(5):  # session, person, memberships, the clock, the state of the board
            answer = client.get("/", headers=HTMX | {"X-Shown-Version": version})

        assert (answer.status_code, answer.content) == (204, b"")

    def test_a_change_and_the_passing_of_time_are_sent(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        make_job("running")
        client = signed_in(owner)
        version = self.shown(client)
        clock.forward(seconds=61)
        later = self.shown(client)
        make_job("running")

        assert len({version, later, self.shown(client)}) == 3

    def test_a_change_is_sent_that_was_earlier_than_the_last_one_of_another_job(
        self, make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock
    ) -> None:
        ends, other, _ = (make_job("running") for _ in range(3))
        clock.forward(seconds=5)
        for job, state, ago in ((other, "succeeded", 2), (ends, "failed", 4)):
            client = signed_in(owner)
            version = self.shown(client)
            at = clock.now - timedelta(seconds=ago)
            assert transitions.transition(job, state, now=clock.now, occurred_at=at, message="It ended.")

            assert self.shown(client) != version

    def test_another_person_or_address_is_another_version(
        self, make_job: MakeJob, owner: User, teammate: User, signed_in: SignIn
    ) -> None:
        make_job("running")
        version = self.shown(signed_in(owner))

        assert signed_in(teammate).get("/", headers=HTMX | {"X-Shown-Version": version}).status_code == 200
        assert signed_in(owner).get("/?who=mine", headers=HTMX | {"X-Shown-Version": version}).status_code == 200


class TestSavedViews:
    def test_are_kept_shared_and_forgotten(
        self, make_job: MakeJob, owner: User, teammate: User, stranger: User, team: Team, signed_in: SignIn
    ) -> None:
        make_job("running")
        form = {"name": "  Big   ones ", "query": "q=machine%3Aa3&group=owner&page=7", "team": str(team.pk)}
        answer = signed_in(owner).post("/views/", form)
        signed_in(owner).post("/views/", {"name": "only mine", "query": "sort=cost", "team": ""})

        assert answer.headers["Location"] == "/?q=machine%3Aa3&group=owner"
        mine, theirs, strange = (text_of(signed_in(who).get("/")) for who in (owner, teammate, stranger))
        assert "Big ones only mine" in mine
        assert "Big ones" in theirs
        assert "only mine" not in theirs
        assert "Big ones" not in strange
        for person in (teammate, stranger):
            for view in SavedView.objects.all():
                signed_in(person).post(f"/views/{view.pk}/delete/")
        assert SavedView.objects.count() == 2
        signed_in(owner).post(f"/views/{SavedView.objects.get(name='only mine').pk}/delete/")
        assert SavedView.objects.get().name == "Big ones"

    def test_are_not_shared_with_another_team(self, owner: User, other_team: Team, signed_in: SignIn) -> None:
        signed_in(owner).post("/views/", {"name": "x", "query": "", "team": str(other_team.pk)})

        assert SavedView.objects.get().team is None

    def test_says_what_became_of_a_view(self, owner: User, teammate: User, team: Team, signed_in: SignIn) -> None:
        client, other = signed_in(owner), signed_in(teammate)
        form = {"name": "dear", "query": "sort=cost", "team": str(team.pk)}

        assert "Saved the view dear." in text_of(client.post("/views/", form, follow=True))
        assert "Replaced your view dear." in text_of(client.post("/views/", form, follow=True))
        address = f"/views/{SavedView.objects.get().pk}/delete/"
        assert "You have no such view" in text_of(other.post(address, follow=True))
        assert 'title="Shared by owner"' in other.get("/").content.decode()
        assert 'title="Shared by owner"' not in client.get("/").content.decode()
        assert "Deleted the view." in text_of(client.post(address, follow=True))
        assert "You have no such view" in text_of(client.post(address, follow=True))

    def test_a_view_of_a_team_that_was_left_says_so(
        self, make_job: MakeJob, owner: User, team: Team, other_team: Team, signed_in: SignIn
    ) -> None:
        make_job("running", name="alpha")
        client = signed_in(owner)
        client.post("/views/", {"name": "theirs", "query": f"who={other_team.pk}"})

        assert "a team that is not one of yours" in text_of(client.get(f"/?{SavedView.objects.get().query}"))
        assert "a team that is not one of yours" not in text_of(client.get(f"/?who={team.pk}"))
        assert "a team that is not one of yours" not in text_of(client.get("/"))

    def test_views_of_others_do_not_displace_ones_own(
        self, owner: User, teammate: User, stranger: User, team: Team, signed_in: SignIn, clock: Clock
    ) -> None:
        others = [(teammate, f"a{number}", team) for number in range(60)]
        mine = [(owner, f"z{number}", None) for number in range(MAX_VIEWS)]
        for person, name, shared in (*others, *mine):
            SavedView.objects.create(owner=person, name=name, team=shared, query="sort=cost", created_at=clock.now)

        tabs = re.findall(r">([az]\d+)</a>", signed_in(owner).get("/").content.decode())

        assert sorted(tabs[:MAX_VIEWS]) == sorted(name for _, name, _ in mine)
        assert len(tabs) == 2 * MAX_VIEWS
        assert not re.search(r">[az]\d+</a>", signed_in(stranger).get("/").content.decode())

    def test_are_bounded_in_number_and_length(self, owner: User, signed_in: SignIn) -> None:
        client = signed_in(owner)
        for number in range(MAX_VIEWS + 1):
            client.post("/views/", {"name": f"view {number}", "query": "sort=cost"})
        client.post("/views/", {"name": "view 0", "query": "sort=name"})

        def refusal(name: str, query: str) -> str:
            return text_of(client.post("/views/", {"name": name, "query": query}, follow=True))

        assert "it needs a name" in refusal("\x00 ", "sort=name")
        assert "a name has at most 40 characters" in refusal("y" * 200, "sort=name")
        assert "its search is too long" in refusal("y", "q=" + "%F0%9F%9A%82" * 90)
        assert "its search is too long" in refusal("view 0", "sort=name&q=" + "a" * 490)
        assert "You have 12 views; delete one first." in refusal("one more", "sort=name")
        assert SavedView.objects.count() == MAX_VIEWS
        assert SavedView.objects.get(name="view 0").query == "sort=name"
