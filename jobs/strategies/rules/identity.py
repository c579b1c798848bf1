"""Rules about the service account of a job, and its encryption key."""

import re
from collections.abc import Iterator

from jobs.spec import Severity, Submission, quoted
from jobs.strategies.base import Problem, rule
from jobs.strategies.rules.addresses import Name, name_problem
from jobs.strategies.rules.placeholders import is_placeholder
from jobs.strategies.sources import API
from jobs.texts import translatable as _

EMAIL = Name(
    re.compile(r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+"),
    "name@project.iam.gserviceaccount.com",
    _("e-mail address"),
)
KEY = Name(
    re.compile(r"projects/[^/]+/locations/([^/]+)/keyRings/[^/]+/cryptoKeys/[^/]+"),
    "projects/P/locations/R/keyRings/RING/cryptoKeys/KEY",
    _("key's name"),
)


@rule(Severity.ERROR, API)
def service_account_is_an_address(submission: Submission) -> Iterator[Problem]:
    """A service account is given by its e-mail address."""
    yield from name_problem(submission.spec_field("serviceAccount"), submission.job_spec.service_account, EMAIL)


@rule(Severity.ERROR, API)
def encryption_key_is_in_the_region(submission: Submission) -> Iterator[Problem]:
    """An encryption key is given by its full name and lies in the job's region."""
    encryption = submission.job.encryption_spec
    if encryption is None:
        return
    name = encryption.kms_key_name
    found = KEY.pattern.fullmatch(name[:2000])
    if not name:
        yield Problem(
            "encryptionSpec.kmsKeyName",
            _("Encryption is asked for without a key."),
            _("Write %(example)s.", example=KEY.example),
        )
    yield from name_problem("encryptionSpec.kmsKeyName", name, KEY)
    if found and submission.region and found.group(1) != submission.region and not is_placeholder(found.group(1)):
        yield Problem(
            "encryptionSpec.kmsKeyName",
            _(
                "The key lies in %(place)s, the job runs in %(region)s.",
                place=quoted(found.group(1)),
                region=quoted(submission.region),
            ),
            _("Use a key of the job's region."),
        )


RULES = (
    service_account_is_an_address,
    encryption_key_is_in_the_region,
)
