"""`manage.py jobspec check|convert|submit`: jobs in files, for people at a terminal and for CI.

Exit codes: 0 = valid, 1 = refused by findings, 2 = unreadable. `check` and `convert` need no database and no network.
If there is a database, `check` compares a job with the persistent resources known to the site.
"""

import argparse
import json
import shlex
import sys
from collections.abc import Iterable
from dataclasses import asdict, replace
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from dashboard import access
from dashboard.management.files import REFUSED, UNREADABLE, read_files, read_one
from jobs import exporter, importer, requests, strategies
from jobs.assessment import Context, assess
from jobs.clock import database_now
from jobs.errors import NotAllowed, NotPermitted
from jobs.models import Team
from jobs.requests.placing import Place, place
from jobs.spec import Finding, Severity, Submission, has_errors
from jobs.strategies import Known

VALID = 0
LENIENT = {"region_is_given": Severity.NOTE}
"""A file need not name the region, except for `submit`."""
OF_PLACEHOLDERS = frozenset({"placeholder", "placeholders_are_filled", "placeholders_are_filled_or_confirmed"})
"""Codes of findings about a template that is valid apart from its placeholders."""


class Command(BaseCommand):
    """Reads a job from a file in any format. Checks it, converts it to another format, or requests it."""

    help = "Check, convert or submit jobs: gcloud YAML, REST JSON, gcloud or curl commands, SDK Python."
    requires_system_checks = []

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the three verbs and their options."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        check = verbs.add_parser("check", help="print the errors and notes about jobs, with their lines")
        check.add_argument("files", nargs="+", metavar="FILE", help="file with a job, or - for standard input")
        check.add_argument("--json", action="store_true", help="print a JSON list with one object per file")
        change = verbs.add_parser("convert", help="print a job in another format")
        change.add_argument("files", nargs="+", metavar="FILE", help="file with a job, and the files that it refers to")
        change.add_argument("--to", required=True, choices=sorted(exporter.FORMATS), help="format to print")
        submit = verbs.add_parser("submit", help="request a job as a user, as on the site")
        submit.add_argument("files", nargs="+", metavar="FILE", help="file with a job, and the files that it refers to")
        submit.add_argument("--as", required=True, dest="user", metavar="USER", help="user name of the requester")
        submit.add_argument("--team", help="team; required if the user may request jobs in several")
        submit.add_argument("--hours", type=float, default=1.0, help="expected run time in hours (default: 1)")
        submit.add_argument(
            "--request-key",
            default="",
            help="idempotency key; the same key requests the job only once (default: random)",
        )
        for verb in (check, submit):
            words = "value that looks like a placeholder, or `confirm` of a finding, that is meant; can be repeated"
            verb.add_argument("--confirm", action="append", default=[], metavar="VALUE", help=words)
        for verb in (check, change, submit):
            verb.add_argument("--region", default="", help="region if the file names none")
            verb.add_argument(
                "--job", default="", metavar="N|NAME", help="number or name of the job if the file contains several"
            )
            verb.add_argument("--project", default="", help="Google Cloud project if the file names none")

    def handle(self, *_: Any, **options: Any) -> None:
        """Run the verb. Exit with its code if that is not 0."""
        code = {"check": self.check_files, "convert": self.convert_file, "submit": self.submit_file}[options["verb"]](
            options
        )
        if code:
            sys.exit(code)

    def check_files(self, options: dict[str, Any]) -> int:
        """Print the findings of every file. Return the highest exit code."""
        worst, reports = VALID, []
        for name, reading in read_files(options["files"], options):
            findings = _findings_of(reading, options["confirm"])
            code = REFUSED if has_errors(findings) else VALID
            if reading.submission is None:
                code = UNREADABLE
            worst = max(worst, code)
            if options["json"]:
                reports.append(_report(name, reading, findings, code))
            else:
                for line in _lines(name, findings):
                    self.stdout.write(line)
                what = f"{reading.kind.replace('_', ' ')}, {reading.form}" if reading.form else "no job"
                self.stdout.write(f"{name}: {('valid', 'refused', 'unreadable')[code]}: {what}")
        if options["json"]:
            self.stdout.write(json.dumps(reports, indent=2, ensure_ascii=True))
        return worst

    def convert_file(self, options: dict[str, Any]) -> int:
        """Print the job in another format, and the findings of the reading on standard error."""
        name, reading = read_one(options["files"], options)
        if reading.submission is None:
            self._findings(name, reading.findings)
            return UNREADABLE
        try:
            text = exporter.write(reading.submission, options["to"])
        except exporter.NotWritable as refusal:
            raise CommandError(str(refusal)) from None
        self._findings(name, reading.findings)
        self.stdout.write(text, ending="")
        return REFUSED if has_errors(reading.findings) else VALID

    def submit_file(self, options: dict[str, Any]) -> int:
        """Request the job for the user's team, and print its id and state. Writes rows as the site does."""
        user = User.objects.filter(username=options["user"], is_active=True).first()
        if user is None:
            raise CommandError(f"There is no active user {options['user']}.")
        team = _team(user, options["team"])
        if not 0 < options["hours"] <= 24 * 365:
            raise CommandError("--hours must be more than 0 and at most 8760, a year.")
        name, reading = read_one(options["files"], options)
        findings = reading.with_rules([], options["confirm"])
        placed = None
        if reading.submission is not None:
            placed = place(reading.submission, team, Place(options["project"], options["region"]))
            findings = [*placed.findings, *findings]
        if placed is None or has_errors(findings):
            self._findings(name, findings)
            return UNREADABLE if placed is None else REFUSED
        try:
            job = requests.request_job(
                submission=replace(placed.submission, confirmed=frozenset(options["confirm"])),
                team=team,
                by=user,
                expected=timedelta(hours=options["hours"]),
                request_key=requests.given_key(given) if (given := options["request_key"]) else requests.new_key(),
                now=database_now(),
            )
        except NotPermitted as refusal:
            raise CommandError(str(refusal)) from None
        except NotAllowed as refusal:
            self._findings(name, map(reading.located, refusal.findings))
            return REFUSED
        self._findings(name, findings)
        self.stdout.write(f"{job.pk} {job.state}")
        return VALID

    def _findings(self, name: str, findings: Iterable[Finding]) -> None:
        for line in _lines(name, findings):
            self.stderr.write(line)


def _findings_of(reading: importer.Reading, confirmed: list[str]) -> list[Finding]:
    """Return the findings of the reading and of the rules. A file need not name its region."""
    if reading.submission is None:
        return list(reading.findings)
    submission = replace(reading.submission, confirmed=frozenset(confirmed))
    assessment = assess(submission, Context(severities=LENIENT, resources=_known_resources(submission)))
    return reading.with_rules(assessment.findings, confirmed)


def _known_resources(submission: Submission) -> Known:
    """Return the persistent resources known to the site, or () without a database, which a check does not need."""
    try:
        return requests.known_resources(submission)
    except DatabaseError:
        return ()


def _report(name: str, reading: importer.Reading, findings: list[Finding], code: int) -> dict[str, Any]:
    """Return the JSON object for a file."""
    return {
        "name": name,
        "format": reading.format,
        "form": reading.form,
        "kind": reading.kind,
        "valid": reading.submission is not None
        and not has_errors(each for each in findings if each.code not in OF_PLACEHOLDERS),
        "ready": code == VALID,
        "jobs": [job.name for job in reading.jobs],
        "placeholders": list(reading.placeholders),
        "findings": [finding.as_dict() for finding in findings],
        "project": reading.submission.project if reading.submission else "",
        "region": reading.submission.region if reading.submission else "",
        "permissions": [asdict(each) for each in strategies.permissions_of(reading.submission)]
        if reading.submission
        else [],
        "body": reading.body,
    }


def _lines(name: str, findings: Iterable[Finding]) -> Iterable[str]:
    """Yield a line per finding in a format that editors parse: file:line: severity: field: message remedy [code]."""
    for finding in findings:
        place = f"{name}:{finding.line}" if finding.line else name
        field = f" {finding.field}:" if finding.field else ""
        remedy = f" {finding.remedy}" if finding.remedy else ""
        if finding.confirm and finding.severity is Severity.ERROR:
            remedy += f" (--confirm {shlex.quote(finding.confirm)})"
        yield f"{place}: {finding.severity}:{field} {finding.message}{remedy} [{finding.code}]"


def _team(user: User, name: str | None) -> Team:
    """Return the team for which the user requests. Raise CommandError if it is ambiguous or not allowed."""
    teams = access.teams_where(user, "request")
    chosen = [team for team in teams if name in (None, team.name)]
    if len(chosen) == 1:
        return chosen[0]
    if not teams:
        raise CommandError(f"{user.get_username()} may not request jobs in any team.")
    known = ", ".join(team.name for team in teams)
    if not chosen:
        raise CommandError(f"{user.get_username()} may not request jobs in {name}, only in {known}.")
    raise CommandError(f"{user.get_username()} may request jobs in several teams. Choose one with --team: {known}.")
