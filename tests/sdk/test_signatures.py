"""Test that the importer's table of the SDK's arguments is that of the installed SDK."""

import json

import pytest

from jobs.importer.sdk_names import SIGNATURES_FILE
from tests.support.sdk_signatures import table

pytestmark = pytest.mark.sdk


def test_the_table_is_that_of_the_installed_sdk() -> None:
    assert json.loads(SIGNATURES_FILE.read_text()) == table()
