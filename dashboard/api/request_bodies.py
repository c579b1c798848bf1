"""Parse the spec of a request, given as JSON or in any format that the importer reads, into a submission."""

import json
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.core.exceptions import PermissionDenied
from ninja import Schema
from pydantic import ConfigDict, Field

from dashboard.access import Request, teams_of, teams_where
from dashboard.access.bounded_work import IMPORTS, bounded_work
from dashboard.api.problems import field_error, not_found, refused
from jobs import importer
from jobs.fallback import MAX_FURTHER, MAX_WAIT_HOURS, Plan, Reason, Step, problems_of
from jobs.importer import Reading
from jobs.models import Team
from jobs.requests.allowed_resources import allowed_of
from jobs.requests.placing import MAX_NAMED, Place, Placed, place
from jobs.spec import Finding, Submission, has_errors
from jobs.strategies import STRATEGIES

MAX_SECONDS = 366 * 24 * 3600
MAX_FILES = 50
NAME = "api-job"
"""Display name if neither the text nor the request has one."""


class JobText(Schema):
    """A job to assess. Give exactly one of `spec` and `text`."""

    model_config = ConfigDict(extra="forbid")

    team: str = Field(
        "", max_length=80, description="Name of the team. Optional if you may request jobs in one team only."
    )
    spec: dict[str, Any] | None = Field(None, description="REST body of a job, as sent to Vertex AI.")
    text: str | None = Field(None, description="gcloud YAML, REST JSON, a gcloud or curl command, or SDK Python.")
    files: dict[str, str] = Field({}, description="Files that the text refers to: contents by file name.")
    name: str = Field(NAME, max_length=128, description="Display name if the text has none.")
    job: str = Field("", max_length=128, description="Number or name of the job if the text contains several.")
    region: str = Field("", max_length=40, description="Region if the text names none.")
    project: str = Field(
        "",
        max_length=63,
        description="One of the team's projects. Default: the project in the text, else the team's default project.",
    )
    strategy: str = Field("", max_length=32, description="Key of a strategy. Replaces the strategy in the text.")
    expected_seconds: int | None = Field(None, ge=1, le=MAX_SECONDS, description="Expected run time in seconds.")
    cap_usd: Decimal | None = Field(
        None, gt=0, max_digits=13, decimal_places=2, description="Cap on the cost of the job, in US dollars."
    )
    confirm: list[str] = Field(
        [],
        max_length=100,
        description="What is meant although it looks like a mistake: values that look like placeholders, and the "
        "`confirm` of findings about what Trainboard does not know.",
    )


class FurtherAttempt(Schema):
    """A further attempt of a job."""

    model_config = ConfigDict(extra="forbid")

    strategy: str = Field("", max_length=32, description="spot, flex_start or standard. Default: that of the job.")
    region: str = Field("", max_length=40, description="Region. Default: that of the job.")


class FurtherAttempts(Schema):
    """Further attempts, made if the job gets no capacity or Vertex AI stops it."""

    model_config = ConfigDict(extra="forbid")

    steps: list[FurtherAttempt] = Field(
        ..., min_length=1, max_length=MAX_FURTHER, description="The further attempts, in order."
    )
    reasons: list[Reason] = Field(
        list(Reason), min_length=1, max_length=10, description="Reasons to make the next attempt."
    )
    wait_hours: int | None = Field(
        None, ge=1, le=MAX_WAIT_HOURS, description="Maximum time that an attempt waits for its first run, in hours."
    )
    max_usd: str | None = Field(
        None,
        max_length=14,
        pattern=r"^[0-9]{1,9}(\.[0-9]{1,2})?$",
        description="Maximum cost of all attempts together, in US dollars.",
    )


class JobRequest(JobText):
    """A job to request."""

    expected_seconds: int = Field(..., ge=1, le=MAX_SECONDS, description="Expected run time in seconds.")
    further_attempts: FurtherAttempts | None = Field(
        None, description="Attempts that follow if the job gets no capacity or Vertex AI stops it."
    )


def parse_plan(body: JobRequest) -> Plan | None:
    """Return the requested further attempts. Raise Problem (422) if they are not valid."""
    further = body.further_attempts
    if further is None:
        return None
    steps = tuple(Step(step.strategy, step.region) for step in further.steps)
    most = Decimal(further.max_usd) if further.max_usd is not None else None
    plan = Plan(steps, frozenset(further.reasons), further.wait_hours, most)
    if problems := problems_of(plan):
        raise field_error("body", "further_attempts", " ".join(problems))
    return plan


@dataclass(frozen=True, slots=True)
class ParsedRequest:
    """The parsed request: the text as read, the submission in a project of its team, and notes on that."""

    reading: Reading
    submission: Submission
    notes: tuple[Finding, ...]
    team: Team
    has_lines: bool

    def findings(self, rules: tuple[Finding, ...], confirmed: list[str]) -> list[Finding]:
        """Return the findings of the reading and of rules without duplicates, with line numbers."""
        found = [*self.notes, *self.reading.with_rules(rules, confirmed)]
        return list(dict.fromkeys(found if self.has_lines else [replace(each, line=None) for each in found]))

    def located(self, findings: tuple[Finding, ...]) -> list[Finding]:
        """Return the findings of a refusal with line numbers."""
        return [self.reading.located(finding) if self.has_lines else finding for finding in findings]


def find_team(request: Request, name: str) -> Team:
    """Return the team for which the caller requests a job.

    Raise Problem: 404 for a team that the caller is not in, 422 if the name is missing. Raise PermissionDenied if their
    role does not permit it.
    """
    teams = teams_where(request.user, "request")
    if not name and len(teams) == 1:
        return teams[0]
    if not teams:
        raise PermissionDenied("You may not request jobs in any team.")
    if not name:
        raise field_error(
            "body", "team", f"You may request jobs in several teams. Choose one: {', '.join(map(str, teams))}."
        )
    found = next((team for team in teams if team.name == name), None)
    if found is not None:
        return found
    if any(team.name == name for team in teams_of(request.user)):
        raise PermissionDenied("Your role in this team does not permit requesting jobs. Engineers may request them.")
    raise not_found("You are not in a team with this name.")


def parse_request(request: Request, body: JobText) -> ParsedRequest:
    """Parse the request. Raise Problem: 422 for a text that is not a job, and errors as in `find_team`."""
    team = find_team(request, body.team)
    if (body.spec is None) == (body.text is None):
        raise field_error("body", "spec", "Give exactly one of spec and text.")
    if body.strategy and body.strategy not in STRATEGIES:
        raise field_error("body", "strategy", f"Use one of {', '.join(STRATEGIES)}.")
    if len(body.files) > MAX_FILES:
        raise field_error("body", "files", f"Too many files. The limit is {MAX_FILES}.")
    text = body.text if body.text is not None else json.dumps(body.spec)
    with bounded_work(IMPORTS, request.user):
        reading = importer.read_text(text, name=body.name or NAME, files=body.files, job=body.job)
    if len(reading.jobs) > 1 and not body.job:
        names = ", ".join(f"{place} {job.name}" for place, job in enumerate(reading.jobs, 1))
        raise field_error("body", "job", f"The text contains several jobs. Choose one: {names[:500]}.")
    if reading.submission is None:
        findings = reading.findings
        if body.spec is not None:  # line numbers would refer to the text generated above
            findings = tuple(replace(finding, line=None) for finding in findings)
        raise refused(findings, "unreadable")
    submission, notes = _place(reading.submission, team, body)
    submission = replace(submission, confirmed=frozenset(body.confirm))
    if body.strategy:
        submission = STRATEGIES[body.strategy].apply(submission)
    return ParsedRequest(reading, submission, notes, team, has_lines=body.spec is None)


def check_readable(parsed: ParsedRequest, body: JobText) -> list[Finding]:
    """Return the findings of the reading. Raise Problem if one of them is an error, such as a placeholder."""
    findings = parsed.findings((), body.confirm)
    if has_errors(findings):
        raise refused(findings)
    return findings


def expected_of(body: JobRequest) -> timedelta:
    """Return the expected run time."""
    return timedelta(seconds=body.expected_seconds)


def _place(submission: Submission, team: Team, body: JobText) -> Placed:
    """Return the job in a project and region of its team. Raise Problem if the team may not use the wanted project."""
    allowed = allowed_of(team)
    if body.project and body.project not in allowed.projects:
        listed = ", ".join(sorted(allowed.projects)[:MAX_NAMED])
        raise field_error("body", "project", f"{team.name} may not use this project. Its jobs run in {listed}.")
    return place(submission, team, Place(body.project, body.region), allowed)
