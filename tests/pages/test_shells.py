"""Tests of the interactive shell of a running job: the address from Vertex AI, for users who may act for the job."""

from django.contrib.auth.models import User

from dashboard.pages.parts.job_links import links_of
from jobs.models import Job
from jobs.observation.log_sources import web_access
from jobs.vertex import RemoteJob
from tests.pages.conftest import MakeJob, SignIn, text_of

URI = "https://abc-dot-us-central1.aiplatform-training.invalid"


def entered(job: Job) -> Job:
    spec = job.spec | {"jobSpec": job.spec["jobSpec"] | {"enableWebAccess": True}}
    Job.objects.filter(pk=job.pk).update(spec=spec, web_access_uris={"workerpool0-0": URI})
    job.refresh_from_db()
    return job


def test_the_shell_of_a_running_job_is_linked(make_job: MakeJob, owner: User, signed_in: SignIn) -> None:
    page = signed_in(owner).get(f"/jobs/{entered(make_job('running')).pk}/")

    assert "Interactive shell: workerpool0-0" in text_of(page)
    assert f'href="{URI}"' in page.content.decode()


def test_who_may_not_act_for_the_job_gets_no_address(make_job: MakeJob) -> None:
    job = entered(make_job("running"))

    assert URI not in str(links_of(job, may_enter=False))
    assert URI in str(links_of(job))


def test_a_stranger_finds_nothing(make_job: MakeJob, stranger: User, signed_in: SignIn) -> None:
    assert signed_in(stranger).get(f"/jobs/{entered(make_job('running')).pk}/").status_code == 404


def test_only_addresses_of_the_web_are_kept() -> None:
    told = {"webAccessUris": {"a": URI, "b": "javascript:alert(1)", "c": 7}}

    assert web_access(RemoteJob("n", "JOB_STATE_RUNNING", told)) == {"a": URI}
    assert web_access(RemoteJob("n", "JOB_STATE_RUNNING", {"webAccessUris": []})) is None
    assert web_access(RemoteJob("n", "JOB_STATE_SUCCEEDED", {})) is None
