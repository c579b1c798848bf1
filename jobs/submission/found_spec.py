"""What a row shows of a job that was found by its label: the job that runs, even if another body was sent for it.

After a restore the same key may come with another body. The database does not know the first one then. Vertex AI does.
"""

from datetime import timedelta
from typing import Any

from jobs import cost, spec, storable, strategies, vertex
from jobs.assessment import Assessment, gpus_of, storable_price, storable_usd
from jobs.clients import INSTANCE_LABEL, JOB_LABEL
from jobs.models import Job
from jobs.observation.adopt import body_of
from jobs.prices import current_book
from jobs.spec.secrets import secrets_as_json
from jobs.spec.sent import find_differences


def found_columns(job: Job, remote: vertex.RemoteJob) -> dict[str, Any]:
    """Return the columns of a row that differ because Vertex AI runs another body than the row has; {} if it does not.

    The amounts are those of the present prices and the run time that was expected last.
    """
    if not find_differences(job.kind, job.spec, remote.raw, with_run_folder=True):
        return {}
    labels = {key: value for key, value in remote.labels.items() if key not in (JOB_LABEL, INSTANCE_LABEL)}
    body = {name: value for name, value in body_of(job.kind, remote.raw).items() if name != "labels"}
    body |= {"labels": labels} if labels else {}
    submission = spec.stored_submission(f"job {job.pk}", job.kind, body, project=job.project, region=job.region)
    strategy, expected = strategies.strategy_of(submission), timedelta(seconds=job.expected_seconds)
    price = cost.estimate(submission, strategy=strategy, expected=expected, book=current_book())
    found = Assessment(submission=submission, findings=(), policy=None, estimate=price)
    columns = {
        "display_name": submission.display_name,
        "strategy": strategy.key,
        "machines": submission.machines_summary,
        "spec": body,
        "secrets": secrets_as_json(body),
        "spec_digest": submission.digest,
        "folder_key": spec.folder_key(submission),
        "hourly_usd": storable_price(price.usd_per_hour),
        "estimate_usd": storable_usd(price.expected_usd),
        "estimate": price.as_dict(),
        "max_usd": found.max_usd,
        "gpus": gpus_of(submission),
        "price_snapshot": None,
    }
    return storable.fit_columns(Job, columns)
