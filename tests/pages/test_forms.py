"""Tests that the view behind each form accepts what the form sends: no field that the view needs is missing."""

from datetime import datetime
from http import HTTPStatus
from urllib.parse import urlencode, urljoin, urlsplit

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.urls import reverse

from jobs.models import Discovery, Job
from tests.pages.conftest import SignIn
from tests.pages.test_every_address import keys
from tests.pages.test_languages import drawn, pages, study, written
from tests.support import samples
from tests.support.clock import Clock
from tests.support.person import Form, forms

__all__ = ["drawn", "keys", "study", "written"]
pytestmark = pytest.mark.django_db

UNREADABLE = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED})


def posts_of(address: str, html: str) -> list[Form]:
    """Return the forms of a page that are posted, with absolute addresses."""
    found = [form for form in forms(html) if form.method == "post"]
    for form in found:
        form.action = urljoin(address, form.action or address)
    return found


def found_externally(job: Job, now: datetime) -> str:
    """Return the address of the external jobs of a place where a discovery found one."""
    place = {"project": job.project, "region": job.region}
    discovery = Discovery.objects.create(
        **place, asked_by=job.owner, asked_at=now, answered_at=now, reaches_back_to=now
    )
    discovery.found.create(
        kind="custom_job", remote_name=f"projects/1/locations/{job.region}/customJobs/1", display_name="theirs",
        state="JOB_STATE_RUNNING", body=samples.body(name="theirs"), created_at=now,
    )  # fmt: skip
    return f"{reverse('adopt')}?{urlencode(place)}"


def test_every_form_sends_what_its_view_needs(
    drawn: list[str], admin: User, owner: User, approver: User, study: Job, signed_in: SignIn, clock: Clock
) -> None:
    """Each kind of form is sent as the page shows it, and its effects are rolled back."""
    external = found_externally(study, clock.now)
    kinds: dict[tuple[object, ...], tuple[User, Form]] = {}
    for person in (owner, approver, admin):  # admins cannot request jobs
        for address, html in pages(signed_in(person), [*drawn, external]).items():
            for form in posts_of(address, html):
                path = [part for part in urlsplit(form.action).path.split("/") if not any(map(str.isdigit, part))]
                kinds.setdefault((*path, *sorted(form.values), *sorted(form.buttons)), (person, form))
    assert {"take", "decide", "cancel"} <= {part for kind in kinds for part in kind}

    wrong = []
    for person, form in kinds.values():
        client = signed_in(person)
        client.raise_request_exception = False
        with transaction.atomic():
            answer = client.post(form.action, form.values | {name: given[0] for name, given in form.buttons.items()})
            transaction.set_rollback(True)
        if answer.status_code in UNREADABLE or answer.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
            wrong.append(f"{answer.status_code} {form.action} {sorted(form.values)}")
    assert wrong == []
