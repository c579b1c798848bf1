"""Tests that jobs from Google's documentation, typed into the form, give exactly the documented body."""

import pytest
from django.contrib.auth.models import User

from jobs.models import Job
from tests.pages.conftest import SignIn, fields_of
from tests.support.documents import DOCUMENTS, IMAGE, REGION, Document

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS)
def test_what_is_typed_is_requested_as_documented(document: Document, owner: User, signed_in: SignIn) -> None:
    client = signed_in(owner)
    page = client.get("/jobs/new/").content.decode()
    empty = fields_of(page)
    typed = {"name": "penguins", "region": REGION, "run_time": "1 h", "pool-0-image": IMAGE, **document.typed}
    assert set(typed) <= {*empty, "strategy"}, "the page has these fields"

    answer = client.post("/jobs/new/", empty | typed | {"do": "submit"})

    assert answer.status_code == 302, answer.content.decode()
    assert Job.objects.get().spec == document.body
