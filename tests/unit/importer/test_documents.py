"""Tests of jobs from Google's documentation: each format gives exactly the documented body, and is written back."""

import pytest

from jobs import exporter, importer
from jobs.spec import Severity, rest_body
from jobs.strategies import check
from tests.support.documents import DOCUMENTS, PROJECT, REGION, Document
from tests.unit.importer.test_reading import refused

TEXTS = ("rest", "gcloud-yaml", "gcloud", "python")
each = pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS)


def read(document: Document, to: str) -> importer.Reading:
    """Read a document's text, with the files beside it; REST bodies have no place, so it is given."""
    return importer.read_text(document.texts[to], project=PROJECT, region=REGION, files=document.files)


@each
@pytest.mark.parametrize("to", TEXTS)
def test_a_text_is_read_to_the_documented_body(document: Document, to: str) -> None:
    reading = read(document, to)

    assert refused(reading) == []
    assert (reading.format, reading.kind) == (to, "custom_job")
    assert reading.body == document.body
    assert reading.submission is not None
    assert rest_body(reading.submission.job) == document.body
    assert (reading.submission.project, reading.submission.region) == (PROJECT, REGION)


@each
def test_no_rule_refuses_it(document: Document) -> None:
    submission = read(document, "rest").submission

    assert submission is not None
    assert [finding.code for finding in check(submission) if finding.severity is Severity.ERROR] == []


@each
@pytest.mark.parametrize("to", exporter.FORMATS)
def test_the_body_comes_back_from_every_format(document: Document, to: str) -> None:
    reading = read(document, "rest")
    assert reading.submission is not None

    again = importer.read_text(exporter.write(reading.submission, to), project=PROJECT, region=REGION)

    assert refused(again) == []
    assert again.body == document.body
