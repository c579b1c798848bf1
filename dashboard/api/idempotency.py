"""Repeated requests with the same Idempotency-Key create one job or schedule."""

from http import HTTPStatus
from uuid import NAMESPACE_URL, UUID, uuid4, uuid5

from django.contrib.auth.models import User
from ninja import Schema
from pydantic import Field

from dashboard.api.problems import Problem
from jobs import requests
from jobs.bounds import digest_of

MAX_KEY_LENGTH = 255


class KeyHeader(Schema):
    """The header that identifies repeated requests."""

    idempotency_key: str = Field(
        "",
        alias="Idempotency-Key",
        max_length=MAX_KEY_LENGTH,
        description="Requests with the same key create one job or schedule.",
    )


def request_key(given: str) -> str:
    """Return the stored form of an Idempotency-Key: a digest, because the column is shorter.

    Return a new key without one.
    """
    return requests.api_key(given) if given else requests.new_key()


def schedule_id(by: User, given: str) -> UUID:
    """Return the id of a schedule that a person creates with an Idempotency-Key. Return a random id without one."""
    return uuid5(NAMESPACE_URL, f"trainboard:schedule:{by.pk}:{digest_of(given)}") if given else uuid4()


def reused_key() -> Problem:
    """Return the problem for an Idempotency-Key that was used for a different request."""
    words = "This Idempotency-Key was used for another request. Send that request unchanged, or use a new key."
    return Problem(HTTPStatus.UNPROCESSABLE_ENTITY, words, kind="key-reused")
