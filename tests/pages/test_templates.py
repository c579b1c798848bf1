"""Tests of templates: the list, a template's page, saving from a job, replacing, deleting, and permissions."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from jobs.models import Job, Membership, Team, Template
from jobs.requests import templates
from tests.pages.conftest import MakeJob, SignIn, text_of
from tests.support import samples
from tests.support.clock import Clock

HTML = "<b onmouseover=alert(1)>&amp;"


@pytest.fixture
def kept(team: Team, owner: User, clock: Clock) -> Template:
    return templates.save_template(
        team=team,
        name="resnet",
        note="the base",
        submission=samples.submission(),
        expected=timedelta(hours=3),
        by=owner,
        now=clock.now,
    )


@pytest.fixture
def viewer(team: Team) -> User:
    user = User.objects.create_user("viewer")
    Membership.objects.create(team=team, user=user, role="viewer")
    return user


class TestList:
    def test_says_what_each_template_asks_for(self, kept: Template, teammate: User, signed_in: SignIn) -> None:
        page = signed_in(teammate).get("/templates/")

        for words in ("resnet", "the base", "Spot", "1 × a2-highgpu-1g", "us-central1", "3 h", "created by owner"):
            assert words in text_of(page)
        assert f'href="/jobs/new/?template={kept.pk}"' in page.content.decode()

    def test_offers_a_viewer_no_verbs(self, kept: Template, viewer: User, signed_in: SignIn) -> None:
        page = signed_in(viewer).get("/templates/").content.decode()

        assert "resnet" in page
        assert "?template=" not in page
        assert "/delete/" not in page

    def test_tells_how_to_get_the_first(self, owner: User, signed_in: SignIn) -> None:
        assert "No templates yet" in text_of(signed_in(owner).get("/templates/"))

    def test_a_stranger_sees_nothing(self, kept: Template, stranger: User, signed_in: SignIn) -> None:
        assert "resnet" not in text_of(signed_in(stranger).get("/templates/"))

    def test_groups_by_team_for_an_admin(
        self, kept: Template, other_team: Team, stranger: User, admin: User, clock: Clock, signed_in: SignIn
    ) -> None:
        templates.save_template(
            team=other_team,
            name="asr",
            submission=samples.submission(),
            expected=timedelta(hours=1),
            by=stranger,
            now=clock.now,
        )

        text = text_of(signed_in(admin).get("/templates/"))

        assert text.index("speech") < text.index("asr") < text.index("vision") < text.index("resnet")


class TestTemplate:
    def test_shows_the_request(self, kept: Template, owner: User, signed_in: SignIn) -> None:
        page = signed_in(owner).get(f"/templates/{kept.pk}/")

        assert '"machineType": "a2-highgpu-1g"' in text_of(page)

    def test_is_renamed(self, kept: Template, teammate: User, signed_in: SignIn) -> None:
        page = signed_in(teammate).post(f"/templates/{kept.pk}/", {"name": "unet", "note": ""}, follow=True)

        kept.refresh_from_db()
        assert (kept.name, kept.note) == ("unet", "")
        assert "Saved unet." in text_of(page)

    @pytest.mark.parametrize("name", ["", "x" * 81, "x" * 501])
    def test_keeps_its_name_when_the_new_one_is_none(
        self, kept: Template, owner: User, signed_in: SignIn, name: str
    ) -> None:
        page = signed_in(owner).post(f"/templates/{kept.pk}/", {"name": name})

        kept.refresh_from_db()
        assert page.status_code == 422
        assert kept.name == "resnet"
        assert 'class="find error"' in page.content.decode()

    def test_of_another_team_is_not_there(self, kept: Template, stranger: User, signed_in: SignIn) -> None:
        client = signed_in(stranger)

        for address in (f"/templates/{kept.pk}/", f"/templates/{kept.pk}/delete/"):
            assert client.get(address).status_code == 404
            assert client.post(address, {"name": "mine"}).status_code == 404
        assert Template.objects.get().name == "resnet"

    def test_is_closed_to_a_viewers_changes(self, kept: Template, viewer: User, signed_in: SignIn) -> None:
        client = signed_in(viewer)

        assert client.get(f"/templates/{kept.pk}/").status_code == 200
        assert client.post(f"/templates/{kept.pk}/", {"name": "mine"}).status_code == 403
        assert client.get(f"/templates/{kept.pk}/delete/").status_code == 403
        assert client.post(f"/templates/{kept.pk}/delete/").status_code == 403
        assert Template.objects.get().name == "resnet"

    @pytest.mark.parametrize("pk", ["0", "999", "9" * 30])
    def test_that_does_not_exist_is_not_there(self, owner: User, signed_in: SignIn, pk: str) -> None:
        assert signed_in(owner).get(f"/templates/{pk}/").status_code == 404


class TestDelete:
    def test_asks_first(self, kept: Template, owner: User, signed_in: SignIn) -> None:
        page = signed_in(owner).get(f"/templates/{kept.pk}/delete/")

        assert "Delete resnet?" in text_of(page)
        assert Template.objects.exists()

    def test_happens_on_post(self, kept: Template, teammate: User, signed_in: SignIn) -> None:
        page = signed_in(teammate).post(f"/templates/{kept.pk}/delete/", follow=True)

        assert "Deleted the template resnet." in text_of(page)
        assert not Template.objects.exists()


class TestSave:
    @pytest.fixture
    def job(self, make_job: MakeJob) -> Job:
        return make_job("succeeded", name="resnet-prune")

    def test_begins_with_the_jobs_name(self, job: Job, owner: User, signed_in: SignIn) -> None:
        assert 'value="resnet-prune"' in signed_in(owner).get(f"/jobs/{job.pk}/template/").content.decode()

    def test_keeps_the_spec_for_the_team(self, job: Job, teammate: User, signed_in: SignIn) -> None:
        page = signed_in(teammate).post(
            f"/jobs/{job.pk}/template/", {"name": "pruned", "note": "works", "do": "save"}, follow=True
        )

        kept = Template.objects.get()
        assert (kept.name, kept.note, kept.team, kept.created_by) == ("pruned", "works", job.team, teammate)
        assert kept.spec == job.spec
        assert kept.expected_seconds == job.expected_seconds
        assert "Saved pruned as a template of vision." in text_of(page)

    def test_asks_before_it_takes_anothers_place(
        self, job: Job, kept: Template, owner: User, signed_in: SignIn
    ) -> None:
        client = signed_in(owner)

        page = client.post(f"/jobs/{job.pk}/template/", {"name": "resnet", "note": "new", "do": "save"})
        assert page.status_code == 422
        assert "Replace resnet" in text_of(page)
        assert Template.objects.get().note == "the base"

        client.post(f"/jobs/{job.pk}/template/", {"name": "resnet", "note": "new", "do": "replace"})
        kept.refresh_from_db()
        assert (kept.note, kept.spec["displayName"]) == ("new", "resnet-prune")

    def test_needs_a_name(self, job: Job, owner: User, signed_in: SignIn) -> None:
        for data in ({}, {"name": " "}):
            page = signed_in(owner).post(f"/jobs/{job.pk}/template/", data)

            assert page.status_code == 422
            assert "Give the template a name." in text_of(page)
        assert not Template.objects.exists()

    def test_is_not_for_viewers_and_not_there_for_strangers(
        self, job: Job, viewer: User, stranger: User, signed_in: SignIn
    ) -> None:
        for person, status in ((viewer, 403), (stranger, 404)):
            client = signed_in(person)
            assert client.get(f"/jobs/{job.pk}/template/").status_code == status
            assert client.post(f"/jobs/{job.pk}/template/", {"name": "mine"}).status_code == status
        assert not Template.objects.exists()

    def test_shows_html_as_text(self, job: Job, owner: User, signed_in: SignIn) -> None:
        client = signed_in(owner)

        client.post(f"/jobs/{job.pk}/template/", {"name": HTML, "note": HTML})

        kept = Template.objects.get()
        for address in ("/templates/", f"/templates/{kept.pk}/", f"/templates/{kept.pk}/delete/"):
            page = client.get(address).content.decode()
            assert "<b onmouseover" not in page
            assert "&lt;b onmouseover" in page
