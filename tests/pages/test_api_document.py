"""Tests of the API with Schemathesis: allowed and forbidden requests get neither a 500 nor an undocumented response.

Hypothesis draws the same examples in every run (see `tests/conftest.py`), EXAMPLES for each operation.
"""

from collections.abc import Iterator
from datetime import timedelta
from io import BytesIO
from typing import Any

import pytest
import requests
import schemathesis
from django.contrib.auth.models import User
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.generation import GenerationMode
from urllib3 import HTTPResponse

from dashboard.api.site import document
from jobs.models import Job
from jobs.queue import rate_limit
from tests.pages.conftest import MakeJob
from tests.pages.test_api_access import schedule_of
from tests.support import samples
from tests.support.api import token_of
from tests.support.examples import examples

EXAMPLES = examples(3)
CHECKED = (
    "not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance",
    "response_headers_conformance",
)  # fmt: skip
NAMES = {"method", "url", "params", "headers", "cookies", "json", "data"}
MAX_CALLS = 1_000_000
SCHEMA = schemathesis.openapi.from_dict(document())
OPERATIONS = sorted((address, method) for address, methods in document()["paths"].items() for method in methods)
load_all_checks()


@pytest.fixture
def token(
    owner: User, approver: User, make_job: MakeJob, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """An approver's token, in a team with a running job, a failed one and one that awaits approval; nothing waits."""
    monkeypatch.setattr("dashboard.api.jobs.wait_for", lambda look, _seconds: (True, look()))
    settings.API_CALLS_PER_MINUTE = MAX_CALLS
    for state in ("running", "failed", "awaiting_approval"):
        make_job(state)
    yield token_of(approver)
    rate_limit.forget()


def send(case: Any, token: str) -> None:
    """Send a request through Django's test client, in the test's transaction, and check what is answered."""
    made = case.as_transport_kwargs(base_url="http://testserver", headers={"Authorization": f"Bearer {token}"})
    asked = requests.Request(**{name: value for name, value in made.items() if name in NAMES}).prepare()
    content = asked.body.encode() if isinstance(asked.body, str) else asked.body or b""
    headers = {name: value.decode() if isinstance(value, bytes) else value for name, value in asked.headers.items()}
    kind = headers.pop("Content-Type", "application/json")
    client = Client(raise_request_exception=False)
    answer = client.generic(str(asked.method), str(asked.path_url), content, content_type=kind, headers=headers)
    response = requests.Response()
    body = BytesIO(answer.content)
    response.raw = HTTPResponse(body, headers=dict(answer.headers), status=answer.status_code, preload_content=False)
    response.status_code, response.request = answer.status_code, asked
    response.headers.update(answer.headers)
    response.url, response.elapsed = str(asked.url), timedelta()
    case.validate_response(response, checks=CHECKS.get_by_names(list(CHECKED)))


@pytest.mark.search
@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize(("address", "method"), OPERATIONS)
def test_every_answer_is_documented(token: str, address: str, method: str, mode: GenerationMode) -> None:
    keys = list(Job.objects.values_list("pk", flat=True))
    cases = SCHEMA[address][method].as_strategy(generation_mode=mode)

    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
    @given(case=cases, key=st.sampled_from([None, *keys]))
    def check(case: Any, key: Any) -> None:
        if key is not None and "job_id" in (case.path_parameters or {}):
            case.path_parameters["job_id"] = str(key)
        if key is not None and "schedule_id" in (case.path_parameters or {}):
            case.path_parameters["schedule_id"] = str(schedule_of(Job.objects.get(pk=key)).pk)
        send(case, token)

    check()


@pytest.mark.parametrize("address", ["/api/v1/jobs", "/api/v1/assessments", "/api/v1/schedules"])
@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_valid_job_with_anything_around_it_is_answered_as_documented(
    token: str, address: str, data: st.DataObject
) -> None:
    """Random bodies seldom hold a job; here one is given, so that requests come through to the database."""
    case = data.draw(SCHEMA[address]["post"].as_strategy())
    timeout = data.draw(st.integers(60, 10**7))
    case.body |= {"spec": samples.body(scheduling={"timeout": f"{timeout}s"}), "text": None}
    case.body |= data.draw(st.sampled_from([{}, {"team": "vision", "strategy": "spot", "region": "us-central1"}]))
    if address.endswith("/schedules"):
        case.body |= data.draw(st.sampled_from([{}, {"cron": "0 6 * * *", "time_zone": "UTC", "last_day": None}]))

    send(case, token)
