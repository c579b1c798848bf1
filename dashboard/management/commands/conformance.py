"""`manage.py conformance`: prove on a real project what Trainboard believes about Vertex AI. See docs/conformance.md.

Exit codes: 0 = every observed claim holds, 1 = a claim differs, 2 = the run could not begin or did not end.
"""

import argparse
import fcntl
import re
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from dashboard.management.conformance_clocks import clock_of
from jobs import conformance, cost, vertex
from jobs.catalog import REGIONS
from jobs.clients import client
from jobs.conformance import Experiment, Recording
from jobs.prices import current_book

IMAGE, MACHINE = "docker.io/library/python:3.12-slim", "e2-highmem-2"
PARALLEL = 4
JOURNAL = "conformance.jsonl"


class Command(BaseCommand):
    """Runs the experiments, prints each claim that differs, and writes one file without private values."""

    help = (
        "Run small experiments at Vertex AI, check what Trainboard believes about it, and write a file to contribute."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("--project", help="the project in which the jobs run and are paid")
        parser.add_argument("--region", default="us-central1")
        parser.add_argument("--bucket", help="a bucket in the region; the run writes below trainboard-conformance/")
        parser.add_argument("--budget", default="2.00", metavar="USD", help="the most that may be spent (2.00)")
        words = "run these experiments as well; can be repeated; all = every one of them"
        parser.add_argument("--with", action="append", default=[], dest="groups", help=words,
                            choices=[*conformance.GROUPS, "all"])  # fmt: skip
        parser.add_argument("--only", action="append", default=[], metavar="NAME", help="run only this experiment")
        parser.add_argument("--skip", action="append", default=[], metavar="NAME", help="leave out this experiment")
        parser.add_argument("--image", default=IMAGE, help="an image with a shell; the jobs run it")
        parser.add_argument("--machine", default=MACHINE, help="the machine type of the experiments")
        parser.add_argument("--parallel", type=int, default=PARALLEL, help=f"experiments at a time ({PARALLEL})")
        parser.add_argument("--output", type=Path, metavar="FILE", help="where to write the recording")
        parser.add_argument("--list", action="store_true", help="print the experiments, their claims and their cost")
        parser.add_argument("--clean", action="store_true", help="only remove what an earlier run left")
        words = "pass a recording through observation, and print what Trainboard would have recorded; nothing is stored"
        parser.add_argument("--replay", type=Path, metavar="FILE", help=words)
        parser.add_argument("--check", type=Path, metavar="FILE", help="check the claims of a recording again")

    def handle(self, *_: Any, **options: Any) -> None:
        """Run what the options ask for."""
        if options["check"]:
            recording = _read(options["check"])
            names = {answer.experiment for answer in recording.answers}
            self._conclude(recording, [each for each in conformance.EXPERIMENTS if each.name in names])
            return
        if options["replay"]:
            for found in conformance.replay(_read(options["replay"])):
                for line in conformance.describe(found):
                    self.stdout.write(line)
            return
        chosen, budget = _chosen(options), _budget(options["budget"])
        site = _site(options, is_real=not (options["list"] or options["clean"]))
        if options["list"]:
            self._list(chosen, site)
            return
        with _only_run() as journal, _ended_by_signals():
            self._run(chosen, site, budget, journal, options)

    def _list(self, experiments: Sequence[Experiment], site: conformance.Site) -> None:
        book = current_book()
        for each in experiments:
            try:
                most = f"at most {cost.format_usd(conformance.most_of(each, site=site, book=book))}"
            except conformance.OverBudget as error:
                most = str(error)
            self.stdout.write(f"{each.name}: {each.title} ({most})")
            for claim in each.claims:
                self.stdout.write(f"  {claim.name}: {claim.text} [{claim.basis}, {claim.source}]")

    def _run(
        self,
        experiments: Sequence[Experiment],
        site: conformance.Site,
        budget: Decimal,
        journal: conformance.Journal,
        options: dict[str, Any],
    ) -> None:
        clock, about = clock_of(settings.VERTEX_ENDPOINT, settings.VERTEX_TOKEN_FILE)
        self._clean(journal, clock, "an earlier run")
        if options["clean"]:
            return
        book = current_book()
        try:
            most = conformance.check_budget(experiments, site=site, book=book, budget=budget)
        except conformance.OverBudget as error:
            raise CommandError(f"{error} Nothing was created.", returncode=2) from None
        self.stdout.write(f"{len(experiments)} experiments, at most {cost.format_usd(most)}.")
        recording = Recording(about | {
            "date": clock.now().date().isoformat(),
            "region": site.region,
            "machine": site.machine,
            "experiments": [each.name for each in experiments],
        })  # fmt: skip
        scrubber = conformance.Scrubber(
            {site.project: "PROJECT", site.bucket: "BUCKET"}, [site.run, IMAGE, conformance.LABEL]
        )
        desk = conformance.Desk(site, clock, book, conformance.RunBudget(budget), journal, scrubber, recording)
        failure = ""
        try:
            conformance.run(desk, experiments, parallel=options["parallel"], report=self._report)
        except KeyboardInterrupt:
            failure = "Interrupted."
        except (conformance.OverBudget, conformance.CannotRun) as error:
            failure = str(error)
        finally:
            self._clean(journal, clock, "this run")
        recording.about["ended"] = failure or "in order"
        self.stdout.write(conformance.spent(desk.budget))
        path = options["output"] or Path(f"conformance-{recording.about['date']}-{site.run}.jsonl")
        self._conclude(recording, experiments, path, failure)

    def _clean(self, journal: conformance.Journal, clock: conformance.Clock, whose: str) -> None:
        """Remove what the journal's open entries name. Raise CommandError if something is left."""
        if not journal.unfinished:
            return
        self.stdout.write(f"Removing what {whose} created ({len(journal.unfinished)} requests) ...")
        try:
            left = conformance.clean_up(
                journal.unfinished, vertex=client(), journal=journal, clock=clock, report=self.stdout.write
            )
        except vertex.VertexError as error:
            raise CommandError(f"{error} Run it again with --clean.", returncode=2) from None
        except KeyboardInterrupt:
            raise CommandError("Interrupted; the next run cleans up.", returncode=2) from None
        if left:
            raise CommandError("Not everything could be removed; the next run tries again.", returncode=2)
        self.stdout.write("Nothing is left.")

    def _conclude(
        self, recording: Recording, experiments: Sequence[Experiment], path: Path | None = None, failure: str = ""
    ) -> None:
        outcomes = conformance.check_all(recording, experiments)
        for name, claim, outcome in outcomes:
            if outcome.result != "holds":
                where = f"{name}/" if name else ""
                self.stdout.write(
                    f"{outcome.result.upper()}  {where}{claim.name}: {claim.text}\n    {outcome.evidence}"
                )
        if path is not None:
            recording.write(path)
            self.stdout.write(f"Wrote {path}.")
        self.stdout.write(conformance.summary(outcomes))
        if failure:
            raise CommandError(failure, returncode=2)
        if any(outcome.result == "differs" for _, _, outcome in outcomes):
            raise SystemExit(1)

    def _report(self, words: str) -> None:
        self.stdout.write(words)
        self.stdout.flush()


def _chosen(options: dict[str, Any]) -> list[Experiment]:
    names = [each.name for each in conformance.EXPERIMENTS]
    if unknown := sorted({*options["only"], *options["skip"]} - set(names)):
        raise CommandError(f"There is no experiment {', '.join(unknown)}; there are {', '.join(names)}.", returncode=2)
    groups = {"", *options["groups"]} | ({*conformance.GROUPS} if "all" in options["groups"] else set())
    chosen = [each for each in conformance.EXPERIMENTS if each.group in groups or each.name in options["only"]]
    chosen = [each for each in chosen if not options["only"] or each.name in options["only"]]
    return [each for each in chosen if each.name not in options["skip"]]


def _budget(text: str) -> Decimal:
    try:
        budget = Decimal(text.removeprefix("$"))
    except InvalidOperation:
        budget = Decimal("NaN")
    if not budget.is_finite() or budget < 0:
        raise CommandError(f"--budget {text} is not an amount in USD.", returncode=2)
    return budget


def _site(options: dict[str, Any], *, is_real: bool) -> conformance.Site:
    project, region = options["project"] or "", options["region"]
    bucket = (options["bucket"] or "").removeprefix("gs://").strip("/")
    if is_real and not (project and bucket):
        raise CommandError("Give --project and --bucket.", returncode=2)
    if region not in REGIONS:
        raise CommandError(f"{region} is not a region with training known here.", returncode=2)
    if bucket and not re.fullmatch(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]", bucket):
        raise CommandError(f"“{bucket}” is not the name of a bucket.", returncode=2)
    return conformance.Site(project, region, bucket, conformance.new_run(), options["image"], options["machine"])


def _read(path: Path) -> Recording:
    try:
        return conformance.read(path)
    except (OSError, conformance.Unreadable) as error:
        raise CommandError(str(error), returncode=2) from None


@contextmanager
def _only_run() -> Iterator[conformance.Journal]:
    """Lock the journal for the block. Raise CommandError if another run uses it."""
    settings.STATE_DIR.mkdir(parents=True, exist_ok=True)
    with (settings.STATE_DIR / f"{JOURNAL}.lock").open("a") as file:
        if not _lock(file):
            raise CommandError("Another run of this command has not ended.", returncode=2)
        yield conformance.Journal(settings.STATE_DIR / JOURNAL)


def _lock(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let SIGTERM end the block as Ctrl-C does."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
