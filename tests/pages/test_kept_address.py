"""Tests that links on a job's page keep its other parameters: a zoom keeps log filters, a filter keeps the zoom."""

from urllib.parse import parse_qs, urlsplit

from django.contrib.auth.models import User

from jobs.models import LogLine
from tests.pages.conftest import MakeJob, SignIn
from tests.support.clock import Clock


def test_a_zoom_keeps_the_filters_of_the_log(make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock) -> None:
    job, client = make_job("running"), signed_in(owner)
    clock.forward(hours=3)
    page = {"HX-Request": "true", "HX-Current-URL": f"http://testserver/jobs/{job.pk}/?level=ERROR&find=oom&zoom=all"}

    part = client.get(f"/jobs/{job.pk}/live/?state=running", headers=page).content.decode()

    assert "level=ERROR&amp;find=oom&amp;zoom=hour" in part


def test_a_filter_of_the_log_keeps_the_zoom(make_job: MakeJob, owner: User, signed_in: SignIn, clock: Clock) -> None:
    job = make_job("running")
    LogLine.objects.create(
        job=job, timestamp=clock.now, insert_id="a", severity="INFO", replica="workerpool0-0", message="line"
    )
    page = {"HX-Request": "true", "HX-Current-URL": f"http://testserver/jobs/{job.pk}/?zoom=hour&as=table&level=INFO"}

    answer = signed_in(owner).get(f"/jobs/{job.pk}/log/?level=ERROR", headers=page)

    query = parse_qs(urlsplit(answer["HX-Replace-Url"]).query)
    assert query == {"level": ["ERROR"], "zoom": ["hour"], "as": ["table"]}


def test_a_stranger_finds_nothing(make_job: MakeJob, stranger: User, signed_in: SignIn) -> None:
    job, client = make_job("running"), signed_in(stranger)

    assert client.get(f"/jobs/{job.pk}/live/").status_code == client.get(f"/jobs/{job.pk}/log/").status_code == 404
