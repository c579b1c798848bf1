"""Send a message as a plain-text e-mail, through Django's mail settings.

Plain text has no markup, and every header is made of cleaned text on one line. Django refuses headers with line breaks
as well.
"""

import smtplib
from email.utils import parseaddr
from itertools import zip_longest
from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.utils.translation import gettext as _

from jobs.messages.content import Content
from jobs.messages.post import SendFailed

PERMANENT = range(500, 600)
"""SMTP replies for which another try is useless (RFC 5321, 4.2.1)."""


def message_of(content: Content, address: str) -> EmailMessage:
    """Return the e-mail to one address."""
    # Message ids have the domain of the site, else that of the sender.
    site = urlsplit(settings.SITE_URL).hostname if settings.SITE_URL else ""
    domain = site or parseaddr(settings.DEFAULT_FROM_EMAIL)[1].rpartition("@")[2] or "localhost"
    headers = {
        "Message-ID": f"<{content.uid}@{domain}>",
        "References": f"<{content.thread}@{domain}>",
        "Auto-Submitted": "auto-generated",
        "X-Trainboard-Kind": content.kind,
    }
    return EmailMessage(content.subject, text_of(content), settings.DEFAULT_FROM_EMAIL, [address], headers=headers)


def text_of(content: Content) -> str:
    """Return the text of the e-mail."""
    if content.kind == "digest":
        urls = (url for _label, url in content.links)
        blocks = [f"- {line}" + (f"\n  {url}" if url else "") for line, url in zip_longest(content.lines, urls)]
    else:
        blocks = list(content.lines)
        blocks += ["\n".join(f"{label}: {value}" for label, value in content.facts)] if content.facts else []
        blocks += ["\n".join(f"{label}: {url}" for label, url in content.links)] if content.links else []
    address = f"{settings.SITE_URL}/messages/settings/"
    foot = _("Choose which messages you get: %(address)s") % {"address": address} if settings.SITE_URL else ""
    return "\n\n".join([*blocks, f"-- \nTrainboard\n{foot}".rstrip()]) + "\n"


def open_connection() -> BaseEmailBackend:
    """Return an open connection to the mail server. Raise SendFailed if it cannot be opened."""
    if not settings.SENDS_EMAIL:
        raise SendFailed("This site sends no e-mail: TRAINBOARD_SMTP_URL is not set.", is_down=True)
    connection: BaseEmailBackend = get_connection()
    try:
        connection.open()
    except (OSError, smtplib.SMTPException) as error:
        raise SendFailed(
            f"Trainboard could not connect or sign in to the mail server: {_words(error)}.", is_down=True
        ) from None
    return connection


def send(content: Content, address: str, connection: BaseEmailBackend) -> None:
    """Send one e-mail. Raise SendFailed if the mail server refuses it."""
    try:
        connection.send_messages([message_of(content, address)])
    except smtplib.SMTPRecipientsRefused as error:
        codes = [code for code, _words in error.recipients.values()]
        is_final = all(code in PERMANENT for code in codes)
        raise SendFailed(f"The mail server refused the address ({codes[0]}).", is_final=is_final) from None
    except smtplib.SMTPResponseException as error:
        words = f"The mail server refused the message ({error.smtp_code})."
        raise SendFailed(words, is_final=error.smtp_code in PERMANENT) from None
    except (OSError, smtplib.SMTPException) as error:
        raise SendFailed(f"The mail server ended the connection: {_words(error)}.", is_down=True) from None


def _words(error: Exception) -> str:
    """Return the kind of error without the server's text, which may quote a password or an internal name."""
    if isinstance(error, smtplib.SMTPResponseException):
        return f"{type(error).__name__} ({error.smtp_code})"
    return type(error).__name__
