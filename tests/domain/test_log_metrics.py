"""Tests of metrics read from kept lines: each line once, in order of time, without secrets, even after kills."""

from datetime import timedelta

from jobs.metrics import Record, Totals
from jobs.models import Job, JobMetrics, LogLine
from jobs.observation import log_metrics
from tests.domain.conftest import Cloud, RequestJob


def write(job: Job, *messages: str, replica: str = "workerpool0-0", since: int = 0) -> None:
    """Keep lines a second apart."""
    for place, message in enumerate(messages):
        LogLine.objects.create(
            job=job, timestamp=job.requested_at + timedelta(seconds=since + place), replica=replica,
            insert_id=f"{replica}{since + place}", severity="INFO", message=message,
        )  # fmt: skip


def record(job: Job) -> Record:
    """Return what is kept."""
    return Record.load(JobMetrics.objects.get(job=job).record, Totals())


def test_new_lines_add_to_what_is_kept_and_count_once(request_job: RequestJob) -> None:
    job = request_job()
    write(job, *(f"epoch {epoch}/9 loss {9 - epoch}" for epoch in range(1, 4)))
    log_metrics.fold_new_lines(job)
    log_metrics.fold_new_lines(job)
    write(job, "epoch 4/9 loss 5", "saved a checkpoint", since=60)

    log_metrics.fold_new_lines(job)

    (series,) = record(job).series
    assert [value for _, _, value in series.points] == [8.0, 7.0, 6.0, 5.0]
    assert series.count == 4


def test_a_job_without_arguments_has_metrics_too(request_job: RequestJob) -> None:
    job = request_job()
    for pool in job.spec["jobSpec"]["workerPoolSpecs"]:
        pool["containerSpec"] = {"imageUri": pool["containerSpec"]["imageUri"]}
    Job.objects.filter(pk=job.pk).update(spec=job.spec)
    write(job, "epoch 1/9 loss 8")

    log_metrics.fold_new_lines(Job.objects.get(pk=job.pk))

    assert [series.count for series in record(job).series] == [1]


def test_progress_and_the_expected_end_stand_beside_the_job(request_job: RequestJob) -> None:
    job = request_job()
    for minute in range(1, 5):
        write(job, f"epoch {minute}/8 loss 1", since=60 * minute)

    log_metrics.fold_new_lines(job)

    row = JobMetrics.objects.get(job=job)
    assert row.fraction == 0.5
    assert row.ends_at == job.requested_at + timedelta(minutes=8)


def test_lines_of_vertex_ai_tell_nothing(request_job: RequestJob) -> None:
    job = request_job()
    write(job, "step 1 loss 1", replica="service")

    log_metrics.fold_new_lines(job)

    assert record(job).series == []


def test_a_secret_is_no_metric(request_job: RequestJob) -> None:
    job = request_job()
    write(job, "epoch 1/2 loss=1 api_key=123456789012", "epoch 2/2 loss=1 password: 12345678", "mean api/key: 12.5")
    write(job, *(f"password: {number}.5, pole: 0.{number}" for number in (3, 1, 2)), since=10)

    log_metrics.fold_new_lines(job)

    assert [series.name for series in record(job).series] == ["loss", "pole"]


def test_each_line_of_an_entry_is_read(request_job: RequestJob) -> None:
    job = request_job()
    write(job, "epoch 1/4 loss=3\nepoch 2/4 loss=2\n\nvalidation: loss=2.5")

    log_metrics.fold_new_lines(job)

    assert [(series.name, series.count) for series in record(job).series] == [("loss", 2), ("validation loss", 1)]


def test_a_table_goes_on_in_the_next_look(request_job: RequestJob) -> None:
    job = request_job()
    write(job, "epoch  train_loss  valid_loss", "| train/ | |", "| loss | 1.5 |")
    log_metrics.fold_new_lines(job)
    write(job, "1      0.7         0.8", "| api_key | 123456789012 |", "-" * 20, since=60)

    log_metrics.fold_new_lines(job)

    assert [series.name for series in record(job).series] == ["train_loss", "valid_loss", "train/loss"]


def test_a_job_without_new_lines_gets_no_row(request_job: RequestJob) -> None:
    log_metrics.fold_new_lines(request_job())

    assert not JobMetrics.objects.exists()


def test_numbers_without_end_break_nothing(request_job: RequestJob, cloud: Cloud) -> None:
    job = request_job()
    write(
        job,
        "epoch 1/99999999999999999999 loss 1e999",
        "epoch 0/0 loss 1e308",
        f"step {'9' * 400} loss -1e308",
        f"epoch {'9' * 400} loss 1.5",
        "[[[[" * 99,
    )

    log_metrics.fold_new_lines(job)

    assert JobMetrics.objects.get(job=job).last_line
