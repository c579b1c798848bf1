"""Output folders of runs: each new run gets one of its own below the folder that is given. Pure.

A run that wrote into the folder of an earlier one would find its checkpoints, continue from its end and train nothing.
"""

import re
from datetime import UTC, datetime
from hashlib import sha256

from jobs.spec.cloud_storage import SCHEME
from jobs.spec.submission import Submission

_RUN = re.compile(r"/run-\d{4}-\d{2}-\d{2}-\d{6}/*$")


def folder_of(submission: Submission) -> str:
    """Return the output folder of a submission without a slash at its end; "" if it has none in Cloud Storage."""
    prefix = submission.job_spec.base_output_directory.output_uri_prefix
    return prefix.rstrip("/") if prefix.startswith(SCHEME) else ""


def folder_key(submission: Submission) -> int | None:
    """Return a number that is equal for jobs that write into the same folder, or None without a folder."""
    folder = folder_of(submission)
    return int.from_bytes(sha256(folder.encode()).digest()[:8], signed=True) if folder else None


def with_own_folder(submission: Submission, moment: datetime) -> Submission:
    """Return the submission with the output folder of the run of `moment`; unchanged if it has no folder.

    The folder of an earlier run is replaced by one beside it.
    """
    spec = submission.job_spec
    prefix = spec.base_output_directory.output_uri_prefix
    if not prefix:
        return submission
    folder = f"{_RUN.sub('', prefix).rstrip('/')}/run-{moment.astimezone(UTC):%Y-%m-%d-%H%M%S}"
    return submission.with_job_spec(
        spec.but(base_output_directory=spec.base_output_directory.but(output_uri_prefix=folder))
    )
