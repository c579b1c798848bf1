"""Run the checks separately: an exception in one becomes its result, and the other checks still run."""

import logging
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from functools import partial

from jobs.clients import client, platform_client
from jobs.doctor import google as google_checks
from jobs.doctor import site
from jobs.doctor.report import Check, failed
from jobs.models import Upkeep
from jobs.observation.failures import record_failure
from jobs.queue import claims
from jobs.texts import translatable as _
from jobs.vertex import VertexError, at_most

logger = logging.getLogger(__name__)

UPKEEP = "doctor"
"""Name of the row with the last examination by a worker."""
INTERVAL = timedelta(hours=1)
MAX_SECONDS = 60
"""Limit for all calls to Google together; a check that begins later reports that there was no time left."""
CHECKS_OF_SITE = (
    site.check_database,
    site.check_migrations,
    site.check_redis,
    site.check_processes,
    site.check_sweep,
    site.check_prices,
    site.check_quotas,
    site.check_starts,
    site.check_disk,
    site.check_email,
    site.check_sign_in,
    site.check_teams,
)
CHECKS_OF_GOOGLE = (
    google_checks.check_credentials,
    google_checks.check_clock,
    google_checks.check_services,
    google_checks.check_permissions,
    google_checks.check_regions,
    google_checks.check_buckets,
    google_checks.check_service_accounts,
    google_checks.check_impersonation,
)


def examine(now: datetime, *, machine_now: Callable[[], datetime]) -> list[Check]:
    """Run every check in this process, with its credentials, and return the results; takes about a minute at most.

    `now` is the database's time, `machine_now` this machine's. Nothing is changed.
    """
    found: list[Check] = []
    for check in (*CHECKS_OF_SITE, partial(site.check_clock, machine_now=machine_now)):
        found += _made(_name(check), partial(check, now))
    google = google_checks.Google(platform_client(), client(), now)
    with at_most(MAX_SECONDS):
        for each in CHECKS_OF_GOOGLE:
            found += _made(_name(each), partial(each, google))
    return found


def examine_when_due(now: datetime, *, machine_now: Callable[[], datetime]) -> None:
    """Run the hourly examination, or a requested one, and save its result for the page."""
    held = claims.claim_upkeep(UPKEEP, now)
    if held is None:
        return
    with record_failure(held, now=now):
        result = {"checks": [each.as_kept() for each in examine(now, machine_now=machine_now)]}
        claims.release_poll(held, due_at=now + INTERVAL, answered_at=now, result=result)


def request_examination(now: datetime) -> None:
    """Ask a worker to run an examination soon."""
    row, _is_new = Upkeep.objects.get_or_create(name=UPKEEP, defaults={"due_at": now})
    Upkeep.objects.filter(pk=row.pk, due_at__gt=now).update(due_at=now)


def _made(name: str, check: Callable[[], Iterable[Check]]) -> list[Check]:
    """Return the results of a check; if it raises, a result with the error follows those before it."""
    found: list[Check] = []
    try:
        for each in check():
            found.append(each)  # noqa: PERF402 - results before an error are kept
    except VertexError as error:
        found.append(failed("Google", name, str(error)))
    except Exception as error:
        logger.exception("the check of %s ended unexpectedly", name)
        found.append(failed(_("This site"), name, _("The check itself failed: %(error)s.", error=type(error).__name__)))
    return found


def _name(check: Callable[..., object]) -> str:
    function = check.func if isinstance(check, partial) else check
    return str(function.__name__).removeprefix("check_").replace("_", " ")
