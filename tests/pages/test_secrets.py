"""Tests of a job with secrets: no page, export, event, copy or admin page shows them except to the owner."""

import html
import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from jobs import observation, requests, spec, transitions
from jobs.errors import NotAllowed
from jobs.models import Approval, Draft, ExternalJob, Job, JobEvent, LogLine, Membership, Role, Template
from jobs.spec.secret_texts import MASK
from tests.pages.conftest import MakeJob, SignIn, fields_of
from tests.support import samples
from tests.support.clock import Clock

pytestmark = pytest.mark.django_db

BY_NAME, BY_FLAG, BY_FORM = "s3cr3t-of-ours-1", "s3cr3t-of-ours-2", "hf_abcdefghijklmnopqrstuvwxyz01"
IN_COMMAND, QUOTED = "s3cr3t-of-ours-4", 's3cr3t"of\\ours-5'
SECRETS = [BY_NAME, BY_FLAG, BY_FORM, IN_COMMAND, QUOTED]
KEYS = {
    "code": "timeout_is_given",
    "pk": 1,
    "object_id": "1",
    "app_label": "jobs",
    "content_type_id": 1,
    "url": "",
    "secret": "x",
    "uidb64": "MQ",
    "token": "x-y",
}


def body(name: str = "resnet-prune", **changes: Any) -> dict[str, Any]:
    whole = samples.body(name=name, **changes)
    container = whole["jobSpec"]["workerPoolSpecs"][0]["containerSpec"]
    container["env"] = [
        {"name": "WANDB_API_KEY", "value": BY_NAME},
        {"name": "DB_PASSWORD", "value": QUOTED},
        {"name": "SETTING", "value": BY_FORM},
    ]
    container["args"] = ["--epochs", "3", "--token", BY_FLAG]
    container["command"] = ["bash", "-c", f"export API_TOKEN={IN_COMMAND}; python train.py"]
    return whole


def forms_of(secret: str) -> set[str]:
    """Return a secret as it is, as in JSON, and with escaped backslashes."""
    return {secret, json.dumps(secret)[1:-1], secret.replace("\\", "\\\\")}


def shown_in(text: str) -> list[str]:
    read = text + html.unescape(text)
    return [secret for secret in SECRETS if any(form in read for form in forms_of(secret))]


@pytest.fixture
def job(make_job: MakeJob, owner: User, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Job:
    """A failed job of the owner whose error, trouble and events quote all its secrets."""
    words = f"Invalid value {' '.join(SECRETS)} in field env {json.dumps(QUOTED)}"
    monkeypatch.setitem(samples.BODIES, "custom_job", lambda **changes: body(**changes))
    made = make_job("failed", error={"code": 3, "message": words})
    Job.objects.filter(pk=made.pk).update(last_error=words)
    transitions.record_event(
        made,
        JobEvent.Kind.STEP_FAILED,
        now=clock.now,
        message=f"Vertex AI refused the job: {words}",
        once_key="quoted",
        detail={"findings": [{"message": words}]},
    )
    for number, replica in enumerate(("service", "workerpool0-0")):
        LogLine.objects.create(
            job=made, timestamp=clock.now, insert_id=str(number), severity="ERROR", replica=replica,
            message=f"train.py: {words}",
        )  # fmt: skip
    Approval.objects.create(
        job=made, asked_at=clock.now, findings=[{"code": "x", "severity": "approval", "message": words}]
    )
    return Job.objects.get(pk=made.pk)


@pytest.fixture
def asking(job: Job, make_job: MakeJob) -> Job:
    return make_job("awaiting_approval", hours=100)


def addresses(patterns: Any = None, prefix: str = "/") -> Iterator[tuple[str, set[str]]]:
    """Every address of the site, with the names of what it needs."""
    for pattern in patterns if patterns is not None else get_resolver().url_patterns:
        if isinstance(pattern, URLResolver):
            yield from addresses(pattern.url_patterns, prefix + str(pattern.pattern))
        elif isinstance(pattern, URLPattern):
            yield prefix + str(pattern.pattern), set(pattern.pattern.converters)


def filled(route: str, *, job: Job, template: Template) -> list[str]:
    """Return the addresses of a route with the keys of the job, its objects and the template."""
    route = route.replace("<uuid:pk>", str(job.pk)).replace("<slug:code>", KEYS["code"])
    if "object_id" in route or "<int:pk>" in route:
        event = job.events.order_by("-pk").first()
        external = ExternalJob.objects.values_list("pk", flat=True).first()
        keys: dict[str, Any] = {
            "/jobs/foreignjob/": external,
            "/jobs/job/": job.pk,
            "/jobs/jobevent/": event.pk,
            "/jobs/template/": template.pk,
        }
        key = next((keys[part] for part in keys if part in route), template.pk)
        route = route.replace("<path:object_id>", str(key)).replace("<int:pk>", str(template.pk))
    for name, key in KEYS.items():
        for kind in ("int", "path", "str"):
            route = route.replace(f"<{kind}:{name}>", str(key))
    extra = ["", "?a={0}&b={1}", "?job={0}", "?q=resnet&who=all&state=failed&as=table&project={2}&region={3}"]
    extra = extra[:1] if "admin" in route else extra
    return [route + each.format(job.pk, asking_of(job), job.project, job.region) for each in extra]


def asking_of(job: Job) -> Any:
    return Job.objects.exclude(pk=job.pk).order_by("requested_at").values_list("pk", flat=True).first() or job.pk


@pytest.mark.parametrize(
    ("who", "headers"),
    [
        *((who, {}) for who in ("teammate", "approver", "lead", "stranger", "admin")),
        ("approver", {"HX-Request": "true"}),
    ],
    ids=["teammate", "approver", "lead", "stranger", "admin", "fragments"],
)
def test_no_address_of_the_site_shows_a_secret(
    job: Job, asking: Job, who: str, headers: dict[str, str], request: pytest.FixtureRequest, signed_in: SignIn
) -> None:
    template = Template.objects.create(  # as it was kept before secrets were left out
        team=job.team, name="old", kind=job.kind, spec=job.spec, region=job.region, expected_seconds=60,
        created_by=job.owner, created_at=job.requested_at, updated_at=job.requested_at,
    )  # fmt: skip
    discovery = observation.request_discovery(project=job.project, region=job.region, by=job.owner, now=job.state_since)
    discovery.found.create(kind=job.kind, remote_name="x", display_name="theirs", state="x", body=job.spec)
    person = request.getfixturevalue("teammate" if who == "lead" else who)
    if who == "lead":
        Membership.objects.filter(user=person).update(role=Role.LEAD)
    browser = signed_in(person)
    seen = 0

    for route, _ in addresses():
        if "logout" in route or "(" in route or "static" in route:
            continue
        for address in filled(route, job=job, template=template):
            answer = browser.get(address, headers=headers)
            seen += answer.status_code == 200
            content = answer.getvalue().decode() if answer.streaming else answer.content.decode()
            assert shown_in(content) == [], (address, content)
    assert seen > (5 if who == "stranger" else 35)


def test_the_owner_sees_what_they_wrote(job: Job, owner: User, signed_in: SignIn) -> None:
    browser = signed_in(owner)

    for address in (f"/jobs/{job.pk}/spec.json", f"/jobs/{job.pk}/events.json", f"/jobs/{job.pk}/"):
        assert shown_in(browser.get(address).content.decode()) == SECRETS, address


def test_nobody_owns_the_secrets_of_an_adopted_job(job: Job, owner: User, signed_in: SignIn) -> None:
    Job.objects.filter(pk=job.pk).update(is_adopted=True)
    browser = signed_in(owner)

    for address in (f"/jobs/{job.pk}/spec.json", f"/jobs/{job.pk}/events.json", f"/jobs/{job.pk}/"):
        assert shown_in(browser.get(address).content.decode()) == [], address


class TestCopy:
    def test_of_a_teammate_has_to_be_filled_in(self, job: Job, teammate: User, signed_in: SignIn) -> None:
        browser = signed_in(teammate)
        page = browser.get(f"/jobs/new/?job={job.pk}").content.decode()
        assert shown_in(page) == []
        form = fields_of(page) | {"timeout": "10 min"}

        answer = browser.post("/jobs/new/", form)

        assert answer.status_code == 422
        assert "somebody else’s secret" in answer.content.decode() or "somebody else&#x27;s" in answer.content.decode()
        assert not Job.objects.exclude(pk=job.pk).exists()

    def test_is_refused_also_where_the_rule_is_switched_off(
        self, job: Job, teammate: User, admin: User, signed_in: SignIn
    ) -> None:
        signed_in(admin).post("/rules/hidden_secrets_are_filled_in/", {"severity": "off"})
        browser = signed_in(teammate)
        form = fields_of(browser.get(f"/jobs/new/?job={job.pk}").content.decode())

        assert browser.post("/jobs/new/", form).status_code == 422
        assert not Job.objects.exclude(pk=job.pk).exists()

    def test_goes_through_once_own_values_stand_there(self, job: Job, teammate: User, signed_in: SignIn) -> None:
        browser = signed_in(teammate)
        form = fields_of(browser.get(f"/jobs/new/?job={job.pk}").content.decode())
        form = {name: value.replace(MASK, "my-own-value-1") for name, value in form.items()}

        assert browser.post("/jobs/new/", form).status_code == 302
        made = Job.objects.exclude(pk=job.pk).get()
        assert "my-own-value-1" in json.dumps(made.spec)
        assert shown_in(json.dumps(made.spec)) == []

    def test_of_the_owner_keeps_the_values(self, job: Job, owner: User, signed_in: SignIn) -> None:
        browser = signed_in(owner)
        form = fields_of(browser.get(f"/jobs/new/?job={job.pk}").content.decode())

        assert browser.post("/jobs/new/", form).status_code == 302
        assert (
            Job.objects.exclude(pk=job.pk).get().spec["jobSpec"]["workerPoolSpecs"]
            == job.spec["jobSpec"]["workerPoolSpecs"]
        )


@pytest.mark.parametrize("who", ["owner", "teammate"])
def test_a_template_keeps_no_secret(
    job: Job, who: str, request: pytest.FixtureRequest, signed_in: SignIn, owner: User
) -> None:
    signed_in(request.getfixturevalue(who)).post(f"/jobs/{job.pk}/template/", {"name": "nightly"})

    kept = json.dumps(Template.objects.get(name="nightly").spec)
    assert shown_in(kept) == []
    assert MASK in kept


def test_an_imported_text_warns_and_names_secret_manager(owner: User, signed_in: SignIn) -> None:
    text = json.dumps(body())

    page = signed_in(owner).post("/jobs/import/", {"text": text, "run_time": "6 min"}).content.decode()

    assert "This looks like a secret" in page
    assert "Secret Manager" in page
    assert Draft.objects.get().owner == owner


def test_what_is_sent_to_vertex_ai_is_the_secret_itself(job: Job) -> None:
    assert shown_in(json.dumps(job.spec)) == SECRETS
    assert requests.submission_of(job).job_spec.worker_pool_specs[0].container_spec is not None


def test_a_job_that_holds_the_mask_is_never_made(team: Any, owner: User, clock: Clock) -> None:
    whole = samples.body(labels={"note": MASK})
    read, _ = spec.read("custom_job", whole)

    with pytest.raises(NotAllowed):
        requests.request_job(
            submission=spec.Submission("custom_job", team.project, "us-central1", read),
            team=team, by=owner, expected=timedelta(minutes=6), request_key="x", now=clock.now,
        )  # fmt: skip


def test_a_browser_without_a_session_sees_nothing(job: Job) -> None:
    assert Client().get(f"/jobs/{job.pk}/spec.json").status_code == 302


class TestLog:
    def test_shows_its_secrets_to_the_owner_only(
        self, job: Job, owner: User, teammate: User, stranger: User, signed_in: SignIn
    ) -> None:
        address = f"/jobs/{job.pk}/log.txt"

        assert BY_NAME in signed_in(owner).get(address).content.decode()
        text = signed_in(teammate).get(address).content.decode()
        assert "train.py: Invalid value" in text
        assert shown_in(text) == []
        assert signed_in(stranger).get(address).status_code == 404

    def test_a_search_finds_nothing_in_what_is_hidden(self, job: Job, teammate: User, signed_in: SignIn) -> None:
        browser = signed_in(teammate)

        assert "train.py" in browser.get(f"/jobs/{job.pk}/log.txt?find=invalid").content.decode()
        assert browser.get(f"/jobs/{job.pk}/log.txt?find={BY_NAME[:6]}").content == b""
