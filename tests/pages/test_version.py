"""Tests that a running site says its version: at the foot of pages, in metrics and in the document of the API."""

from django.contrib.auth.models import User
from django.test import Client

from dashboard import __version__
from tests.pages.conftest import SignIn

FOOT = f'<footer translate="no">Trainboard {__version__}</footer>'


def test_pages_show_the_version_to_people_of_the_site_only(client: Client, owner: User, signed_in: SignIn) -> None:
    assert FOOT in signed_in(owner).get("/").content.decode()
    assert "<footer" not in client.get("/accounts/login/").content.decode()


def test_metrics_and_the_api_tell_programs(client: Client, db: None) -> None:
    assert f'trainboard_build_info{{version="{__version__}"}} 1.0' in client.get("/metrics").content.decode()
    assert client.get("/api/v1/openapi.json").json()["info"]["version"] == __version__
