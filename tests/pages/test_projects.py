"""Tests of several projects per team: the choice in the form, kept by everything that a job starts from."""

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jobs import known_quotas
from jobs.models import AllowedResource, Draft, Job, PersistentResource, QuotaReading, Schedule, Scope, Team, Template
from tests.conftest import person
from tests.pages.conftest import MakeJob, SignIn, fields_of, text_in, text_of
from tests.support.clock import Clock

SECOND = "vision-two"
THEIRS = "speech-research"
REFUSED = f"The team may not use the project {THEIRS}."
COMMAND = (
    "gcloud ai custom-jobs create --project={project} --display-name=x --region=europe-west4 "
    "--worker-pool-spec=machine-type=n1-standard-4,replica-count=1,container-image-uri=gcr.io/x/y"
)


@pytest.fixture
def second(team: Team) -> AllowedResource:
    """The team may use another project beside its default one."""
    return AllowedResource.objects.create(team=team, kind="project", name=SECOND)


def choices(page: str) -> list[str]:
    """Return the values that the choice of a project offers."""
    select = page.partition('id="project-choice"')[2].partition("</div>")[0]
    return [part.partition('"')[0] for part in select.split('<option value="')[1:]]


class TestForm:
    def test_a_team_of_one_project_is_offered_none(self, engineer: Client, example: dict[str, str]) -> None:
        page = engineer.get("/jobs/new/").content.decode()

        assert 'name="project"' not in page + engineer.post("/jobs/new/check/", example).content.decode()

    def test_the_default_project_is_chosen_until_another_one_is(
        self, second: AllowedResource, engineer: Client, example: dict[str, str]
    ) -> None:
        page = engineer.get("/jobs/new/?example=1").content.decode()
        assert choices(page) == ["", SECOND]
        assert "vision-research · default" in page

        engineer.post("/jobs/new/", fields_of(page) | {"run_time": "3 min"})
        engineer.post("/jobs/new/", example | {"run_time": "3 min", "project": SECOND, "request_key": "b"})

        assert list(Job.objects.order_by("requested_at", "pk").values_list("project", flat=True)) in (
            ["vision-research", SECOND],
            [SECOND, "vision-research"],
        )

    @pytest.mark.parametrize("do", ["submit", "check"])
    def test_a_project_of_others_is_refused_at_its_field(
        self, second: AllowedResource, engineer: Client, example: dict[str, str], do: str
    ) -> None:
        page = engineer.post("/jobs/new/", example | {"project": THEIRS, "do": do}).content.decode()

        assert REFUSED in text_in(page, "id_project-finds")
        assert choices(page) == [THEIRS, "", SECOND]
        assert not Job.objects.exists()

    def test_one_that_was_taken_away_is_refused_also_where_none_is_left_to_choose(
        self, engineer: Client, example: dict[str, str]
    ) -> None:
        answer = engineer.post("/jobs/new/", example | {"project": SECOND})

        assert answer.status_code == 422
        assert f"may not use the project {SECOND}" in text_in(answer.content.decode(), "id_project-finds")

    def test_text_that_no_project_is_called_changes_nothing(self, engineer: Client, example: dict[str, str]) -> None:
        for odd in ("\x00", "é" * 400, "../" * 20, "x" * 600):
            fields = example | {"project": odd, "strategy": "persistent"}
            assert engineer.post("/jobs/new/check/", fields).status_code == 200
            assert engineer.post("/jobs/new/", fields).status_code == 422

    def test_quotas_and_resources_are_those_of_the_chosen_project(
        self, second: AllowedResource, engineer: Client, example: dict[str, str], clock: Clock
    ) -> None:
        fields = example | {"run_time": "1 h"}
        metric = engineer.post("/jobs/new/check/", fields).content.decode().partition("aiplatform.googleapis.com/")[2]
        place = {"project": SECOND, "region": fields["region"]}
        QuotaReading.objects.create(
            **place, metric=metric.partition('"')[0], limit=1_234, used=0, quota_id="Q", read_at=clock.now
        )
        known_quotas.forget()
        for project in ("", THEIRS, SECOND):
            text = text_of(engineer.post("/jobs/new/check/", fields | {"project": project}))
            assert ("1234 free" in text) == (project == SECOND), project
            engineer.post("/jobs/new/check/", fields | {"project": project, "strategy": "persistent"})
        assert set(Scope.objects.values_list("project", flat=True)) == {"vision-research", SECOND}

    def test_the_preview_asks_no_query_more(
        self, second: AllowedResource, engineer: Client, example: dict[str, str]
    ) -> None:
        fields = example | {"project": SECOND}
        for _ in range(2):
            with CaptureQueriesContext(connection) as queries:
                engineer.post("/jobs/new/check/", fields)
        assert len(queries) <= 7

    def test_a_gcloud_command_names_it(
        self, second: AllowedResource, engineer: Client, example: dict[str, str]
    ) -> None:
        page = text_of(engineer.post("/jobs/new/check/", example | {"project": SECOND, "written": "gcloud"}))

        assert f"--project={SECOND}" in page

    def test_a_text_that_is_typed_keeps_it_or_names_another(
        self, second: AllowedResource, engineer: Client, example: dict[str, str]
    ) -> None:
        first = fields_of(engineer.post("/jobs/new/", example | {"project": SECOND, "do": "check"}).content.decode())
        edited = first | {"do": "read", "request_text": first["request_text"].replace("n1-standard-4", "n1-standard-8")}
        assert fields_of(engineer.post("/jobs/new/", edited).content.decode())["project"] == SECOND

        for project in ("vision-research", THEIRS):
            command = first | {"do": "read", "request_text": COMMAND.format(project=project)}
            answer = engineer.post("/jobs/new/", command)
            refused = project == THEIRS
            assert (f"The text names the project “{THEIRS}”" in text_of(answer)) == refused
            assert fields_of(answer.content.decode())["project"] == (SECOND if refused else project)

    def test_a_person_of_two_teams_changes_the_team(
        self, second: AllowedResource, owner: User, other_team: Team, signed_in: SignIn
    ) -> None:
        other_team.memberships.create(user=owner, role="engineer")
        browser = signed_in(owner)
        fields = fields_of(browser.get("/jobs/new/?example=1").content.decode())
        theirs = fields | {"team": str(other_team.pk)}

        assert choices(browser.post("/jobs/new/check/", theirs | {"project": ""}).content.decode()) == []
        page = browser.post("/jobs/new/", theirs | {"project": SECOND}).content.decode()
        assert f"Choose {THEIRS}" in text_in(page, "id_project-finds")


class TestBeginnings:
    def test_a_draft_of_the_form_keeps_it(
        self, second: AllowedResource, engineer: Client, example: dict[str, str]
    ) -> None:
        engineer.post("/jobs/new/draft/", example | {"project": SECOND})

        page = engineer.get(f"/jobs/new/?form={example['request_key']}").content.decode()
        assert fields_of(page)["project"] == SECOND

    def test_a_copy_a_template_and_a_schedule_keep_it(
        self, second: AllowedResource, engineer: Client, example: dict[str, str]
    ) -> None:
        engineer.post("/jobs/new/", example | {"run_time": "3 min", "project": SECOND})
        job = Job.objects.get()
        assert fields_of(engineer.get(f"/jobs/new/?job={job.pk}").content.decode())["project"] == SECOND

        engineer.post(f"/jobs/{job.pk}/template/", {"name": "kept", "note": ""})
        template = Template.objects.get()
        assert template.project == SECOND
        assert fields_of(engineer.get(f"/jobs/new/?template={template.pk}").content.decode())["project"] == SECOND

        assert f"us-central1 · {SECOND}" in text_of(engineer.get(f"/jobs/{job.pk}/"))
        times = {"name": "nightly", "cron": "0 6 * * *", "time_zone": "UTC"}
        engineer.post(f"/schedules/new/?template={template.pk}", times)
        schedule = Schedule.objects.get()
        assert schedule.project == SECOND
        for page in (f"/templates/{template.pk}/", "/templates/", f"/schedules/{schedule.pk}/"):
            assert f"· {SECOND}" in text_of(engineer.get(page))

        second.delete()
        page = engineer.get(f"/jobs/new/?job={job.pk}").content.decode()
        assert f"may not use the project {SECOND}" in text_in(page, "id_project-finds")
        refused = text_of(engineer.post(f"/schedules/new/?job={job.pk}", times | {"name": "again"}))
        assert f"may not use the project {SECOND}" in refused
        assert Schedule.objects.count() == 1

    def test_what_was_made_for_the_default_project_follows_it(
        self, make_job: MakeJob, team: Team, engineer: Client
    ) -> None:
        engineer.post(f"/jobs/{make_job().pk}/template/", {"name": "kept", "note": ""})
        AllowedResource.objects.create(team=team, kind="project", name="vision-research")
        Team.objects.filter(pk=team.pk).update(project="vision-new")

        page = engineer.get(f"/jobs/new/?template={Template.objects.get().pk}").content.decode()

        assert fields_of(page)["project"] == ""
        assert "vision-new · default" in page


class TestImport:
    def test_the_project_of_a_text_is_taken_where_the_team_may_use_it(
        self, second: AllowedResource, engineer: Client
    ) -> None:
        text = text_of(engineer.post("/jobs/import/", {"text": COMMAND.format(project=SECOND), "run_time": "1 h"}))

        draft = Draft.objects.get()
        assert "another project" not in text
        assert draft.project == SECOND
        assert fields_of(engineer.get(f"/jobs/new/?draft={draft.pk}").content.decode())["project"] == SECOND

    def test_another_one_is_refused_and_nothing_of_it_is_told(
        self, second: AllowedResource, engineer: Client, clock: Clock
    ) -> None:
        command = f"{COMMAND.format(project=THEIRS)} --persistent-resource-id=their-secret"
        body = {"name": "x", "resourcePools": [{"machineSpec": {"machineType": "n1-standard-4"}, "replicaCount": 1}]}
        known = {"state": "RUNNING", "state_since": clock.now, "body": body, "seen_at": clock.now}
        texts = []
        for _ in range(2):
            texts.append(text_of(engineer.post("/jobs/import/", {"text": command, "run_time": "1 h"})))
            place = {"project": THEIRS, "region": "europe-west4", "resource_id": "their-secret"}
            PersistentResource.objects.get_or_create(**place, defaults=known)

        assert texts[0] == texts[1]
        assert f"The text names the project “{THEIRS}”" in texts[0]
        begun = engineer.get(f"/jobs/new/?draft={Draft.objects.latest('pk').pk}").content.decode()
        assert REFUSED in text_in(begun, "id_project-finds")


def test_a_stranger_is_offered_only_their_own_and_asks_in_none_of_ours(
    second: AllowedResource, stranger: User, signed_in: SignIn, example: dict[str, str], make_job: MakeJob
) -> None:
    browser, job = signed_in(stranger), make_job()
    page = browser.get("/jobs/new/?example=1").content.decode()
    assert SECOND not in page + browser.post("/jobs/new/check/", fields_of(page)).content.decode()
    AllowedResource.objects.create(team=Team.objects.get(name="speech"), kind="project", name="speech-two")

    fields = fields_of(browser.get("/jobs/new/?example=1").content.decode()) | {"run_time": "3 min"}
    for project in (SECOND, job.project):
        answer = browser.post("/jobs/new/", fields | {"project": project})
        assert answer.status_code == 422
        assert f"may not use the project {project}" in text_in(answer.content.decode(), "id_project-finds")
    assert browser.get(f"/jobs/new/?job={job.pk}").status_code == 404
    assert not Job.objects.filter(team__name="speech").exists()


def test_an_approver_sees_a_project_that_is_not_the_default_one(
    second: AllowedResource, approver: User, signed_in: SignIn, make_job: MakeJob
) -> None:
    browser = signed_in(approver)
    for project, words in (("vision-research", 0), (SECOND, 1)):
        job = make_job("awaiting_approval", project=project)
        assert text_of(browser.get(f"/approvals/?job={job.pk}")).count(f"Project {project}") == words


def test_a_viewer_may_choose_nothing(second: AllowedResource, team: Team, signed_in: SignIn) -> None:
    browser = signed_in(person("looker", team, "viewer"))
    browser.raise_request_exception = False

    assert browser.get("/jobs/new/").status_code == 403
