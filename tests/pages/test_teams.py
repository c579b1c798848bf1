"""Tests of team settings: who may change what, refusals, and that strangers see nothing."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from jobs.models import AllowedResource, Job, Membership, Policy, Role, Team
from jobs.people import team_settings
from jobs.requests.allowed_resources import allowed_of
from tests.conftest import person
from tests.pages.conftest import MakeJob, SignIn, text_of

pytestmark = pytest.mark.both_databases

PLACES = {"default_region": "us-central1", "bucket": "gs://vision-training", "regions": ["us-central1"]}


@pytest.fixture
def lead(team: Team) -> User:
    return person("lead", team, Role.LEAD)


@pytest.fixture
def browser(lead: User, signed_in: SignIn) -> Client:
    return signed_in(lead)


class TestMembers:
    def test_a_lead_adds_somebody(self, browser: Client, team: Team, stranger: User) -> None:
        answer = browser.post(f"/teams/{team.pk}/members/", {"do": "add", "name": "stranger", "role": "viewer"})

        assert answer.status_code == 302
        assert Membership.objects.get(team=team, user=stranger).role == "viewer"

    @pytest.mark.parametrize(
        ("name", "role", "words"),
        [
            ("nobody-here", "viewer", "There is no account"),
            ("owner", "viewer", "already a member"),
            ("stranger", "king", "not one of the available choices"),
            ("", "viewer", "This field is required"),
        ],
    )
    def test_who_cannot_be_added_is_told_and_what_was_typed_stays(
        self, browser: Client, team: Team, owner: User, stranger: User, name: str, role: str, words: str
    ) -> None:
        answer = browser.post(f"/teams/{team.pk}/members/", {"do": "add", "name": name, "role": role})

        assert answer.status_code == 422
        assert words in text_of(answer)
        assert f'value="{name}"' in answer.content.decode() or not name
        assert team.memberships.count() == 2

    def test_an_address_that_nobody_has_checked_is_nobody(self, browser: Client, team: Team, stranger: User) -> None:
        User.objects.filter(pk=stranger.pk).update(email="boss@example.com")

        answer = browser.post(f"/teams/{team.pk}/members/", {"do": "add", "name": "boss@example.com", "role": "lead"})

        assert "There is no account" in text_of(answer)

    def test_a_lead_changes_a_role_and_removes_a_member(self, browser: Client, team: Team, owner: User) -> None:
        member = Membership.objects.get(user=owner)

        browser.post(f"/teams/{team.pk}/members/", {"do": "role", "member": member.pk, "role": "viewer"})
        member.refresh_from_db()
        assert member.role == "viewer"

        browser.post(f"/teams/{team.pk}/members/", {"do": "remove", "member": member.pk})
        assert not Membership.objects.filter(pk=member.pk).exists()

    @pytest.mark.parametrize("form", [{"do": "remove"}, {"do": "role", "role": "viewer"}])
    def test_the_last_lead_stays(self, browser: Client, team: Team, lead: User, form: dict[str, str]) -> None:
        member = Membership.objects.get(user=lead)

        answer = browser.post(f"/teams/{team.pk}/members/", form | {"member": str(member.pk)}, follow=True)

        assert "last lead" in text_of(answer)
        member.refresh_from_db()
        assert member.role == "lead"

    def test_a_lead_who_cannot_sign_in_is_no_other_lead(self, browser: Client, team: Team, lead: User) -> None:
        gone = person("gone", team, Role.LEAD)
        User.objects.filter(pk=gone.pk).update(is_active=False)

        browser.post(
            f"/teams/{team.pk}/members/", {"do": "remove", "member": str(Membership.objects.get(user=lead).pk)}
        )

        assert Membership.objects.filter(user=lead).exists()

    def test_everybody_may_leave(self, team: Team, owner: User, signed_in: SignIn) -> None:
        member = Membership.objects.get(user=owner)

        answer = signed_in(owner).post(f"/teams/{team.pk}/members/", {"do": "remove", "member": member.pk})

        assert answer.headers["Location"] == "/teams/"
        assert not Membership.objects.filter(user=owner).exists()

    def test_an_engineer_changes_nobody(self, team: Team, owner: User, approver: User, signed_in: SignIn) -> None:
        other = Membership.objects.get(user=approver)
        client = signed_in(owner)

        for form in ({"do": "remove"}, {"do": "role", "role": "lead"}, {"do": "add", "name": "owner", "role": "lead"}):
            answer = client.post(f"/teams/{team.pk}/members/", form | {"member": str(other.pk)})
            assert answer.status_code == 403
        own = Membership.objects.get(user=owner)
        assert (
            client.post(f"/teams/{team.pk}/members/", {"do": "role", "role": "lead", "member": own.pk}).status_code
            == 403
        )

    def test_a_member_of_another_team_is_not_reached(self, browser: Client, team: Team, stranger: User) -> None:
        theirs = Membership.objects.get(user=stranger)

        answer = browser.post(f"/teams/{team.pk}/members/", {"do": "remove", "member": theirs.pk}, follow=True)

        assert "no longer in the team" in text_of(answer)
        assert Membership.objects.filter(pk=theirs.pk).exists()


class TestPlaces:
    def test_a_lead_narrows_the_regions_and_widens_them_not_alone(
        self, browser: Client, team: Team, admin: User, signed_in: SignIn
    ) -> None:
        address, two = f"/teams/{team.pk}/places/", PLACES | {"regions": ["us-central1", "us-east4"]}
        assert browser.post(address, two).status_code == 302
        assert browser.post(address, PLACES).status_code == 302

        for wider in (two, PLACES | {"regions": []}):
            answer = browser.post(address, wider)
            assert answer.status_code == 422
            assert "Only a site admin allows a team more regions." in text_of(answer)
            assert Policy.objects.get(team=team).regions == ["us-central1"]

        assert signed_in(admin).post(address, two).status_code == 302

    def test_a_lead_sets_where_jobs_run(self, browser: Client, team: Team) -> None:
        answer = browser.post(f"/teams/{team.pk}/places/", PLACES | {"default_region": "us-central1"})

        assert answer.status_code == 302
        assert Policy.objects.get(team=team).regions == ["us-central1"]

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"bucket": "vision"}, "begins with gs://"),
            ({"bucket": "gs://A"}, "begins with gs://"),
            ({"default_region": "mars-north1"}, "not one of the available choices"),
            ({"default_region": "europe-west4"}, "not one of the allowed regions"),
        ],
    )
    def test_what_cannot_be_is_refused(self, browser: Client, team: Team, change: dict[str, str], words: str) -> None:
        answer = browser.post(f"/teams/{team.pk}/places/", PLACES | change)

        assert answer.status_code == 422
        assert words in text_of(answer)
        assert Policy.objects.get(team=team).regions == []


class TestAllowed:
    def test_a_lead_allows_buckets_only(self, browser: Client, team: Team) -> None:
        assert browser.post(f"/teams/{team.pk}/allowed/", {"kind": "bucket", "name": "gs://other/"}).status_code == 302
        assert AllowedResource.objects.get().name == "other"
        refused = browser.post(f"/teams/{team.pk}/allowed/", {"kind": "project", "name": "speech-research"})
        assert refused.status_code == 422
        assert AllowedResource.objects.count() == 1

    def test_an_admin_allows_projects_and_accounts(self, team: Team, admin: User, signed_in: SignIn) -> None:
        client, account = signed_in(admin), "train@vision-research.iam.gserviceaccount.com"

        client.post(f"/teams/{team.pk}/allowed/", {"kind": "project", "name": "vision-two"})
        too_long = client.post(
            f"/teams/{team.pk}/allowed/", {"kind": "project", "name": f"{'x' * 50}.com:vision-three"}
        )
        assert too_long.status_code == 422
        client.post(f"/teams/{team.pk}/allowed/", {"kind": "service_account", "name": account})
        client.post(f"/teams/{team.pk}/project/", {"project": "vision-three"})

        assert sorted(AllowedResource.objects.values_list("name", flat=True)) == [account, "vision-two"]
        team.refresh_from_db()
        assert team.project == "vision-three"

    def test_an_admin_names_the_account_that_calls_are_made_as(
        self, team: Team, admin: User, owner: User, stranger: User, signed_in: SignIn
    ) -> None:
        account, path = "vision@vision-research.iam.gserviceaccount.com", f"/teams/{team.pk}/project/"

        refused = signed_in(admin).post(path, {"project": team.project, "acts_as": "ada@example.com"})
        assert (refused.status_code, "such as trainer@" in text_of(refused)) == (422, True)
        assert 'value="ada@example.com"' in refused.content.decode()
        signed_in(admin).post(path, {"project": team.project, "acts_as": account})

        assert Team.objects.get(pk=team.pk).acts_as == account
        assert account in text_of(signed_in(owner).get(f"/teams/{team.pk}/"))
        assert account in text_of(signed_in(admin).get("/audit/"))
        for other in (owner, stranger):
            assert signed_in(other).post(path, {"project": team.project, "acts_as": ""}).status_code in {403, 404}
        assert signed_in(stranger).get(f"/teams/{team.pk}/").status_code == 404
        assert Team.objects.get(pk=team.pk).acts_as == account

    @pytest.mark.parametrize(
        ("kind", "name"),
        [
            ("project", "No Project"),
            ("bucket", "x"),
            ("service_account", "someone@example.com"),
            ("moon", "vision-two"),
        ],
    )
    def test_names_that_can_be_none_are_refused(
        self, team: Team, admin: User, signed_in: SignIn, kind: str, name: str
    ) -> None:
        answer = signed_in(admin).post(f"/teams/{team.pk}/allowed/", {"kind": kind, "name": name})

        assert answer.status_code == 422
        assert AllowedResource.objects.count() == 0

    def test_twice_is_once(self, browser: Client, team: Team) -> None:
        browser.post(f"/teams/{team.pk}/allowed/", {"kind": "bucket", "name": "other"})
        answer = browser.post(f"/teams/{team.pk}/allowed/", {"kind": "bucket", "name": "other"})

        assert "is already allowed" in text_of(answer)

    def test_a_lead_takes_away_buckets_and_no_projects(self, browser: Client, team: Team) -> None:
        bucket = AllowedResource.objects.create(team=team, kind="bucket", name="other")
        project = AllowedResource.objects.create(team=team, kind="project", name="vision-two")

        assert browser.post(f"/teams/{team.pk}/allowed/", {"remove": bucket.pk}).status_code == 302
        assert browser.post(f"/teams/{team.pk}/allowed/", {"remove": project.pk}).status_code == 403
        assert list(AllowedResource.objects.all()) == [project]

    def test_a_row_of_another_team_is_not_reached(self, browser: Client, team: Team, other_team: Team) -> None:
        theirs = AllowedResource.objects.create(team=other_team, kind="bucket", name="other")

        assert browser.post(f"/teams/{team.pk}/allowed/", {"remove": theirs.pk}).status_code == 404
        assert AllowedResource.objects.count() == 1

    def test_a_lead_sets_no_project(self, browser: Client, team: Team) -> None:
        answer = browser.post(f"/teams/{team.pk}/project/", {"project": "speech-research"})

        assert answer.status_code == 403
        team.refresh_from_db()
        assert team.project == "vision-research"


class TestClosedLists:
    def test_the_page_warns_of_open_lists(self, browser: Client, team: Team, admin: User, signed_in: SignIn) -> None:
        words = "Empty lists allow everything"

        assert words in text_of(browser.get(f"/teams/{team.pk}/"))
        assert f"/teams/{team.pk}/close/" in signed_in(admin).get(f"/teams/{team.pk}/").content.decode()
        Team.objects.filter(pk=team.pk).update(is_closed=True)
        assert words not in text_of(browser.get(f"/teams/{team.pk}/"))

    def test_one_click_lists_and_allows_what_the_team_used(
        self, make_job: MakeJob, team: Team, admin: User, lead: User, stranger: User, signed_in: SignIn
    ) -> None:
        job = make_job("running")
        used = job.spec["jobSpec"] | {
            "serviceAccount": "train@vision-research.iam.gserviceaccount.com",
            "baseOutputDirectory": {"outputUriPrefix": "gs://of-before/x"},
            "network": "projects/1/global/networks/n",
        }
        Job.objects.filter(pk=job.pk).update(spec=job.spec | {"jobSpec": used})
        make_job("running")
        address, client = f"/teams/{team.pk}/close/", signed_in(admin)

        page = text_of(client.get(address))
        for words in (
            "train@vision-research",
            "of-before",
            "projects/1/global/networks/n",
            "without a service account",
        ):
            assert words in page
        assert not AllowedResource.objects.filter(team=team).exists()
        assert client.post(address).status_code == 302

        team.refresh_from_db()
        kept = set(AllowedResource.objects.filter(team=team).values_list("kind", "name"))
        assert team.is_closed
        assert kept == {
            ("service_account", "train@vision-research.iam.gserviceaccount.com"), ("service_account", "none"),
            ("bucket", "of-before"), ("network", "projects/1/global/networks/n"),
        }  # fmt: skip
        assert signed_in(lead).post(address).status_code == 403
        assert signed_in(stranger).get(address).status_code == 404

    def test_new_teams_are_closed_and_the_first_runs_without_an_account(self, admin: User) -> None:
        first = team_settings.create_team("first", "first-project", by=admin)
        second = team_settings.create_team("second", "second-project", by=admin)

        assert first.is_closed
        assert second.is_closed
        assert [(row.team, row.name) for row in AllowedResource.objects.all()] == [(first, "none")]
        allowed = allowed_of(second)
        assert (allowed.is_closed, allowed.buckets, allowed.service_accounts) == (True, frozenset(), frozenset())

    def test_the_default_bucket_of_a_closed_team_is_allowed(self, team: Team) -> None:
        Team.objects.filter(pk=team.pk).update(is_closed=True, bucket="gs://vision-training/jobs")
        team.refresh_from_db()

        assert allowed_of(team).buckets == {"vision-training"}

    @pytest.mark.parametrize(
        ("kind", "name", "is_right"),
        [
            ("service_account", "none", True),
            ("network", "projects/1/global/networks/n", True),
            ("network", "projects/p/regions/us-central1/networkAttachments/a", True),
            ("network", "default", False),
            ("network", "10.0.0.9", True),
            ("network", "files.corp.example", True),
            ("key", "projects/p/locations/us-central1/keyRings/r/cryptoKeys/k", True),
            ("key", "k", False),
        ],
    )
    def test_an_admin_allows_networks_and_keys(
        self, team: Team, admin: User, lead: User, signed_in: SignIn, kind: str, name: str, *, is_right: bool
    ) -> None:
        form = {"kind": kind, "name": name}

        signed_in(lead).post(f"/teams/{team.pk}/allowed/", form)
        assert not AllowedResource.objects.exists()
        signed_in(admin).post(f"/teams/{team.pk}/allowed/", form)
        assert AllowedResource.objects.exists() is is_right


class TestWhoSees:
    def test_a_stranger_sees_nothing(self, team: Team, stranger: User, signed_in: SignIn) -> None:
        client = signed_in(stranger)

        assert "vision" not in text_of(client.get("/teams/"))
        assert client.get(f"/teams/{team.pk}/").status_code == 404
        for part in ("members", "places", "project", "allowed"):
            assert client.post(f"/teams/{team.pk}/{part}/", {}).status_code == 404

    def test_an_engineer_sees_and_changes_nothing(self, team: Team, owner: User, signed_in: SignIn) -> None:
        client = signed_in(owner)
        page = client.get(f"/teams/{team.pk}/")

        assert "Default region" in text_of(page)
        assert 'value="add"' not in page.content.decode()
        for part in ("places", "project", "allowed"):
            assert client.post(f"/teams/{team.pk}/{part}/", {}).status_code == 403

    def test_an_admin_creates_a_team(self, admin: User, signed_in: SignIn, owner: User) -> None:
        answer = signed_in(admin).post("/teams/", {"name": "robotics", "project": "robotics-research"})

        assert answer.headers["Location"] == f"/teams/{Team.objects.get(name='robotics').pk}/"
        assert signed_in(owner).post("/teams/", {"name": "mine", "project": "my-project"}).status_code == 403

    @pytest.mark.parametrize(("name", "project"), [("vision", "vision-research"), (" ", "vision-two"), ("new", "X")])
    def test_a_team_needs_a_free_name_and_a_project(
        self, admin: User, team: Team, signed_in: SignIn, name: str, project: str
    ) -> None:
        answer = signed_in(admin).post("/teams/", {"name": name, "project": project})

        assert answer.status_code == 422
        assert Team.objects.count() == 1

    def test_pages_take_few_queries(
        self, browser: Client, team: Team, owner: User, django_assert_max_num_queries: object
    ) -> None:
        for path in ("/teams/", f"/teams/{team.pk}/"):
            with django_assert_max_num_queries(10):  # type: ignore[operator]
                browser.get(path)
