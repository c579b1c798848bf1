"""What came of jobs that have ended, as figures that can be summed: of one job, and of all that ended in a month.

`jobs.upkeep.figures` writes both in one transaction, with the entries of the ledger that the costs are the sums of.
Money is in whole micro-dollars and time in whole seconds, because sums of integers are exact on every database.
"""

from django.conf import settings
from django.db import models

from jobs.models.job import Job
from jobs.models.team import Team

GROUPED = ("team", "owner", "strategy", "region", "accelerator", "outcome")
SUMMED = (
    "jobs", "unpriced", "micros", "saved_micros", "seconds", "preemptions", "lost_micros", "estimated", "inside",
)  # fmt: skip
LEARNED = (
    "runs", "run_logs", "run_squares", "waits", "wait_logs", "wait_squares",
    "machine_seconds", "preemptions", "lost_seconds", "estimated", "inside",
)  # fmt: skip
"""What estimates learn from; `jobs.cost.learned.Sums` describes each."""
WAITS = tuple(f"waited_{bucket}" for bucket in range(17))
"""Columns of MonthFigures: how many jobs waited as long as each bucket of `jobs.timeline.wait_bucket`, in order."""
IN_COLUMNS = -2
"""In `MonthFigures.wait_bucket`: the row is of jobs of every bucket, and has the buckets in WAITS. All rows are."""
VERSION = 3
"""Of what the figures of a job hold: those of an earlier one are counted again (`jobs.upkeep.figures`)."""
BY_LIKENESS = -2
"""In `LearnedFigures.hour`: the row is of this version. The version before kept rows by hour, which nothing reads."""


class Figures(models.Model):
    """The columns by which jobs are grouped, then those that are summed."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+", db_index=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", db_index=False)
    strategy = models.CharField(max_length=32)
    region = models.CharField(max_length=40)
    accelerator = models.CharField(max_length=64, blank=True, help_text="The one it has most of; empty: none.")
    outcome = models.CharField(max_length=64, help_text="The state in which it ended.")

    jobs = models.PositiveIntegerField(default=0)
    unpriced = models.PositiveIntegerField(default=0, help_text="Jobs that ran and have no known price.")
    micros = models.BigIntegerField(default=0, db_default=0, help_text="What they cost.")
    saved_micros = models.BigIntegerField(
        default=0, db_default=0, help_text="What the same work would have cost more under Standard."
    )
    lost_micros = models.BigIntegerField(default=0, db_default=0, help_text="What work cost that restarts undid.")
    estimated = models.PositiveIntegerField(
        default=0, db_default=0, help_text="Jobs that succeeded and had a range of costs before."
    )
    inside = models.PositiveIntegerField(
        default=0, db_default=0, help_text="Those of them whose cost was in that range."
    )
    seconds = models.BigIntegerField(default=0, help_text="Time in which the machines worked.")
    preemptions = models.PositiveIntegerField(default=0)

    class Meta:
        abstract = True


class JobFigures(Figures):
    """The figures of one job that has ended; `jobs` is 1."""

    job = models.OneToOneField(Job, on_delete=models.CASCADE, primary_key=True, related_name="figures")
    ended_on = models.DateField(help_text="UTC")
    wait_bucket = models.SmallIntegerField(help_text="See jobs.timeline.wait_bucket; -1: it never ran.")
    teaches = models.JSONField(
        default=dict, db_default={}, blank=True, help_text="What it has added to LearnedFigures; {}: nothing."
    )
    version = models.PositiveSmallIntegerField(default=VERSION, db_default=0)

    class Meta:
        verbose_name_plural = "figures of jobs"
        indexes = [
            models.Index(fields=["team", "ended_on"], name="figures_of_days"),
            models.Index(fields=["job"], condition=models.Q(version__lt=VERSION), name="figures_to_renew_3"),
        ]

    def __str__(self) -> str:
        return f"figures of job {self.job_id}"


class RunSummary(models.Model):
    """What tables of runs show and sort by, of one job of a family. Its rows are small, so that thousands can be read.

    `jobs.upkeep.families` writes it, and the reader of the log updates the results.
    """

    job = models.OneToOneField(Job, on_delete=models.CASCADE, primary_key=True, related_name="run_summary")
    settings = models.JSONField(default=dict, help_text="{name: value} by jobs.spec.settings, without secrets.")
    results = models.JSONField(default=dict, help_text="{metric: [last, lowest, highest]} by jobs.timeline.results.")

    class Meta:
        verbose_name_plural = "summaries of runs"

    def __str__(self) -> str:
        return f"summary of job {self.job_id}"


class MonthFigures(Figures):
    """The sum of the figures of all jobs that ended in a month and agree in the columns of GROUPED."""

    month = models.DateField(help_text="Its first day, UTC.")
    wait_bucket = models.SmallIntegerField(default=IN_COLUMNS, help_text="IN_COLUMNS.")

    jobs = models.IntegerField(default=0)
    unpriced = models.IntegerField(default=0, help_text="Jobs that ran and have no known price.")
    estimated = models.IntegerField(
        default=0, db_default=0, help_text="Jobs that succeeded and had a range of costs before."
    )
    inside = models.IntegerField(default=0, db_default=0, help_text="Those of them whose cost was in that range.")
    preemptions = models.IntegerField(default=0)

    class Meta:
        verbose_name_plural = "figures of months"
        constraints = [
            models.UniqueConstraint(fields=["team", "month", *GROUPED[1:], "wait_bucket"], name="one_sum_per_group")
        ]

    def __str__(self) -> str:
        return f"figures of {self.team}, {self.month:%Y-%m}"


for _name in WAITS:
    MonthFigures.add_to_class(_name, models.IntegerField(default=0, db_default=0))


class LearnedFigures(models.Model):
    """Sums over the jobs of a team that ended in a month, for estimates: see `jobs.cost.learned`.

    Each job is in three rows: that of its program, machine and magnitude of run time (of every strategy and region),
    that of its machine, region and strategy (of every program), and that of its strategy.
    """

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+", db_index=False)
    program = models.CharField(
        max_length=16, blank=True, db_default="", default="", help_text="See jobs.cost.likeness; empty: every program."
    )
    region = models.CharField(max_length=40, blank=True)
    machine = models.CharField(max_length=160, blank=True, help_text="Of the first worker pool, with attached GPUs.")
    magnitude = models.SmallIntegerField(db_default=0, default=0, help_text="Of the expected run time, in doublings.")
    month = models.DateField(help_text="Its first day, UTC.")
    strategy = models.CharField(max_length=32, blank=True)
    tunes = models.BooleanField(help_text="Whether they are tuning jobs.")
    hour = models.SmallIntegerField(default=BY_LIKENESS, help_text="BY_LIKENESS.")

    runs = models.BigIntegerField(default=0)
    run_logs = models.BigIntegerField(default=0)
    run_squares = models.BigIntegerField(default=0)
    waits = models.BigIntegerField(default=0)
    wait_logs = models.BigIntegerField(default=0)
    wait_squares = models.BigIntegerField(default=0)
    machine_seconds = models.BigIntegerField(default=0)
    preemptions = models.BigIntegerField(default=0)
    lost_seconds = models.BigIntegerField(default=0)
    estimated = models.BigIntegerField(default=0)
    inside = models.BigIntegerField(default=0)

    class Meta:
        verbose_name_plural = "learned figures"
        constraints = [
            models.UniqueConstraint(
                fields=["team", "program", "region", "machine", "magnitude", "month", "strategy", "tunes", "hour"],
                name="one_sum_by_likeness",
            )
        ]

    def __str__(self) -> str:
        return f"learned from jobs of {self.team}, {self.month:%Y-%m}"
