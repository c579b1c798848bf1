"""Put a job into a project and a region of a team: the only place that decides this for texts, forms and requests."""

from dataclasses import replace
from typing import NamedTuple

from jobs.allowed_resources import Allowed, check_project
from jobs.models import Team
from jobs.requests.allowed_resources import allowed_of
from jobs.spec import Finding, Severity, Submission, quoted
from jobs.strategies.rules.placeholders import is_open_place
from jobs.texts import joined
from jobs.texts import translatable as _

MAX_NAMED = 10
"""Projects that a message lists."""
OTHER_PROJECT = "other_project"


class Place(NamedTuple):
    """A project and a region; "" for one that is not given. If it `yields`, a text may name another project."""

    project: str = ""
    region: str = ""
    yields: bool = False


class Placed(NamedTuple):
    """A job in a project and a region of its team, and what differs from its text."""

    submission: Submission
    findings: tuple[Finding, ...]

    @property
    def is_refused(self) -> bool:
        """Whether the text or the request names a project in which the job cannot run."""
        return any(finding.severity is Severity.ERROR for finding in self.findings)


def fill_place(submission: Submission, wanted: Place) -> Submission:
    """Return a job with the wanted project and region where its text names none, or only a placeholder."""
    project, region = (
        given if given and (not named or is_open_place(named)) else named
        for given, named in zip(wanted[:2], (submission.project, submission.region), strict=True)
    )
    return replace(submission, project=project, region=region)


def place(submission: Submission, team: Team, wanted: Place, allowed: Allowed | None = None) -> Placed:
    """Return a job in a project and a region of a team, with findings about what differs from its text.

    The text decides, then `wanted`, then the team's defaults. A project in the text that the team may not use, or that
    differs from the wanted one, is an error, and so is a wanted one that the team may not use; the job is then placed
    in the wanted or the default project, so that the rest of it can be checked. `allowed` saves a query.
    """
    allowed = allowed or allowed_of(team)
    findings, is_firm = [], bool(wanted.project) and not wanted.yields
    project = wanted.project or team.project
    if (refused := check_project(project, allowed)) is not None:
        findings.append(refused)
        project = team.project
    named, region = submission.project, submission.region if submission.region.isprintable() else ""
    if named and is_open_place(named):
        message = _("The project %(name)s is a placeholder; %(project)s is used.", name=quoted(named), project=project)
        findings.append(Finding("project_assumed", Severity.NOTE, "", message))
    elif named and named != project and (is_firm or named not in allowed.projects):
        listed = ", ".join([project] if is_firm else sorted(allowed.projects)[:MAX_NAMED])
        message = _("The text names the project %(name)s.", name=quoted(named))
        words = _("Jobs of %(team)s run in %(projects)s.", team=team.name, projects=listed)
        if is_firm:
            words = _("This is another project than the request (%(project)s).", project=project)
        remedy = _("Change it to %(projects)s, or request the job for a team of that project.", projects=listed)
        findings.append(Finding(OTHER_PROJECT, Severity.ERROR, "", joined(message, words), remedy))
    else:
        project = named or project
    filled = region and not is_open_place(region)
    if not filled:
        region = wanted.region or team.default_region
    if not filled and not wanted.region:
        message = _(
            "The text names no region; the default region of %(team)s, %(region)s, is used.",
            team=team.name,
            region=region,
        )
        findings.append(Finding("region_assumed", Severity.NOTE, "", message))
    return Placed(replace(submission, project=project, region=region), tuple(findings))
