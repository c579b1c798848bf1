"""Tests that the address of a mail server becomes Django's settings, or is refused without showing the password."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from dashboard.mail import email_settings, site_url


def test_starttls_with_a_user() -> None:
    found = email_settings("V", "smtp://ann%40example.org:p%40ss%3A%2F@mail.example.org:2525/?tls=1")

    assert found["EMAIL_HOST"] == "mail.example.org"
    assert found["EMAIL_PORT"] == 2525
    assert found["EMAIL_HOST_USER"] == "ann@example.org"
    assert found["EMAIL_HOST_PASSWORD"] == "p@ss:/"
    assert found["EMAIL_USE_TLS"] is True
    assert found["EMAIL_USE_SSL"] is False


@pytest.mark.parametrize(
    ("url", "port", "is_ssl"),
    [
        ("smtp://h", 25, False),
        ("smtp://h/?tls=1", 587, False),
        ("smtps://h", 465, True),
        ("smtp://[::1]:26", 26, False),
    ],
)
def test_ports(url: str, port: int, *, is_ssl: bool) -> None:
    found = email_settings("V", url)

    assert (found["EMAIL_PORT"], found["EMAIL_USE_SSL"]) == (port, is_ssl)


def test_without_an_address_nothing_is_sent() -> None:
    assert email_settings("V", "") == {"EMAIL_BACKEND": "django.core.mail.backends.dummy.EmailBackend"}


@pytest.mark.parametrize(
    "url",
    [
        "http://u:hush@h", "mail.example.org", "smtp://u:hush@", "smtp://u:hush@h:port", "smtp://u:hush@h:99999",
        "smtp://u:hush@h/path", "smtp://u:hush@h/?tls=maybe", "smtp://u:hush@h/?ssl=1", "smtps://u:hush@h/?tls=1",
        "smtp://u:hush@h/#x", "smtp://u:hush@[::1", "smtp://u:hush@h/?tls",
    ],
)  # fmt: skip
def test_a_wrong_address_is_named_without_its_password(url: str) -> None:
    with pytest.raises(ImproperlyConfigured) as refusal:
        email_settings("TRAINBOARD_SMTP_URL", url)

    assert "TRAINBOARD_SMTP_URL" in str(refusal.value)
    assert "hush" not in str(refusal.value)


def test_the_sites_address_loses_its_last_slash() -> None:
    assert site_url("V", "https://board.example.org/") == "https://board.example.org"
    assert site_url("V", "") == ""


@pytest.mark.parametrize("url", ["board.example.org", "ftp://h", "https://h/?a=1", "javascript:alert(1)", "https://"])
def test_what_is_no_address_of_a_site_stops_the_start(url: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="V="):
        site_url("V", url)
