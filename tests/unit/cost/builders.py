"""Jobs to price, built from REST bodies as people send them."""

from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from jobs.catalog import fee_rows, price_rows
from jobs.cost import Estimate, PriceBook, estimate
from jobs.spec import Submission, read
from jobs.strategies import STRATEGIES


def book_of(day: date) -> PriceBook:
    """The price book of the data files without what was learned after a day; undated rows stay."""
    prices, fees = (
        [row for row in rows if row.as_of is None or row.as_of <= day] for rows in (price_rows(), fee_rows())
    )
    return PriceBook(prices, fees)


BOOK = PriceBook.load()
JULY = book_of(date(2026, 7, 30))
"""The worked examples use the Spot and reservation prices of that day; newer ones exist."""
HOUR = timedelta(hours=1)


def pool(
    machine_type: str = "n1-standard-4", *, replicas: int = 1, disk_gb: int = 100, **machine: Any
) -> dict[str, Any]:
    """A worker pool that runs a container."""
    return {
        "machineSpec": {"machineType": machine_type, **machine},
        "replicaCount": str(replicas),
        "containerSpec": {"imageUri": "gcr.io/vision/train"},
        "diskSpec": {"bootDiskSizeGb": disk_gb},
    }


def custom_job(*pools: dict[str, Any], region: str = "us-central1", timeout: str = "") -> Submission:
    """A custom job of these pools."""
    spec = {"workerPoolSpecs": list(pools), "scheduling": {"timeout": timeout} if timeout else {}}
    return submission("custom_job", {"displayName": "train", "jobSpec": spec}, region)


def tuning_job(*pools: dict[str, Any], trials: int, parallel: int, timeout: str = "", **more: Any) -> Submission:
    """A tuning job whose trials are made of these pools."""
    scheduling = {"scheduling": {"timeout": timeout}} if timeout else {}
    body = {
        "displayName": "search",
        "maxTrialCount": trials,
        "parallelTrialCount": parallel,
        "trialJobSpec": {"workerPoolSpecs": list(pools), **scheduling},
        **more,
    }
    return submission("hyperparameter_tuning_job", body, "us-central1")


def submission(kind: str, body: dict[str, Any], region: str) -> Submission:
    """The submission that a REST body makes."""
    job, findings = read(kind, body)
    assert job is not None, findings
    return Submission(kind=kind, project="vision", region=region, job=job)


def priced(
    job: Submission, strategy: str = "standard", expected: timedelta = HOUR, book: PriceBook = BOOK, **more: Any
) -> Estimate:
    """The estimate of a job."""
    return estimate(job, strategy=STRATEGIES[strategy], expected=expected, book=book, **more)


def known(usd: Decimal | None) -> Decimal:
    """The amount, which must be known."""
    assert usd is not None
    return usd
