"""A compose form with its assessment, and the context of the page that shows both."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache, partial
from typing import Any, NamedTuple

from django.contrib.auth.models import User
from django.template.loader import render_to_string
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from dashboard.drawing.figures import day_of
from dashboard.forms.compose.form import Compose
from dashboard.forms.compose.text import EDITABLE, check_text, is_edited, text_digest
from dashboard.pages.parts.capacity_advice import ShownAdvice, load_advice
from dashboard.pages.parts.planned_attempts import Attempts, assess_attempts
from dashboard.pages.parts.strategy_rows import strategy_rows
from jobs import exporter, known_catalogue, known_quotas, observation, requests, strategies, tasks
from jobs.allowed_resources import check_project
from jobs.assessment import Assessment, Context, Outcome, assess, has_machines
from jobs.clock import display_now
from jobs.known_images import known_images
from jobs.models import Team
from jobs.policy import SETS
from jobs.requests.allowed_resources import recent_allowed
from jobs.requests.placing import Place, Placed, place
from jobs.spec import Finding, Severity, Submission, folder_of
from jobs.spec.images import ImageState, images_of
from jobs.strategies import Known, KnownResource, Permission


@dataclass(frozen=True, slots=True)
class AssessedForm:
    """The team, the submission and its assessment, and the page's context.

    `submission` and `assessment` are None while they cannot be made.
    """

    form: Compose
    team: Team
    submission: Submission | None
    assessment: Assessment | None
    context: dict[str, Any]
    inputs: Context | None = None
    """What the assessment was made with."""

    @property
    def may_be_requested(self) -> bool:
        """Whether every field could be parsed and nothing refuses the job."""
        outcome = self.assessment.outcome if self.assessment is not None else None
        planned: Attempts | None = self.context.get("attempts")
        is_planned_well = planned is None or not planned.has_errors
        return self.form.is_readable and is_planned_well and outcome not in (None, Outcome.REFUSED)


def assess_form(form: Compose, teams: list[Team], *, by: User, now: datetime) -> AssessedForm:
    """Parse and assess a form. `teams` are the teams, at least one, in which the user may request jobs.

    The current budgets of `by` apply. `now` also decides how old prices are and how long a price book is cached.
    """
    known_catalogue.refresh()  # before the form offers its lists
    form.read()
    team = next((each for each in teams if str(each.pk) == form.job.cleaned_data.get("team")), teams[0])
    project = _choose_project(form, team, now)
    submission = form.submission(project=project)
    resources = _known_resources(form, project)
    chosen = strategies.STRATEGIES.get(form.job.cleaned_data.get("strategy", ""))
    assessment, context = None, None
    if submission is not None:
        context = _context(form, team, submission, resources, by, now)
        assessment = assess(submission, context, expected=form.expected, strategy=chosen, compares=True)
        form.add_findings(_due_findings(assessment, submission))
    advice = load_advice(submission if has_machines(submission) else None, now=now)
    shown = {
        **_approval(assessment, assess_attempts(form, submission, context)),
        "form": form,
        "job": form.job,
        "team": team,
        "project": project,
        "assessment": assessment,
        "budgets": context.budgets if context is not None else (),
        "sweep_size": max(1, len(form.sweep.arguments)),
        "has_machines": has_machines(submission),
        **_strategies(form, assessment, advice),
        "now": now,
        "is_waiting": advice.is_awaited
        or (context is not None and any(not each.status for each in context.image_states.values())),
        "stale_prices": stale_prices(assessment, now) if has_machines(submission) else "",
        "resources": [(known.resource_id, _words(known)) for known in resources if known.resource.state == "RUNNING"],
        "by_hand": chosen.console if chosen is not None else "",
        "permissions": _permissions(strategies.permissions_of(submission), get_language())
        if submission is not None
        else "",
        "sets": [each for each in assessment.findings if each.code.startswith(SETS)] if assessment is not None else [],
        "request": _request_text(form, submission, team, project, now),
    }
    return AssessedForm(form, team, submission, assessment, shown, context)


def _due_findings(assessment: Assessment, submission: Submission) -> Sequence[Finding]:
    """Return the findings, without those of severity approval if no machine, and so no price, is chosen."""
    if has_machines(submission):
        return assessment.findings
    return [each for each in assessment.findings if each.severity is not Severity.APPROVAL]


def _approval(assessment: Assessment | None, attempts: Attempts | None) -> dict[str, Any]:
    """Return the attempts, and whether the first or a later attempt needs an approval."""
    is_refused = assessment is None or assessment.outcome in (None, Outcome.REFUSED)
    asks = assessment is not None and assessment.outcome is Outcome.NEEDS_APPROVAL
    asks_later = attempts is not None and attempts.needs_approval
    return {"attempts": attempts, "needs_approval": not is_refused and (asks or asks_later)}


def _choose_project(form: Compose, team: Team, now: datetime) -> str:
    """Set the team's projects as choices of the form and return the chosen one.

    A project that the team may not use gets an error at its field. Nothing in it is read: return the default project.
    """
    allowed = recent_allowed(team, now)
    form.job.offer_projects(team.project, allowed.projects)
    chosen = form.job.cleaned_data.get("project") or team.project
    if (refused := check_project(chosen, allowed)) is None:
        return chosen
    form.add_findings([refused])
    form.is_readable = False
    return team.project


def _context(form: Compose, team: Team, submission: Submission, resources: Known, by: User, now: datetime) -> Context:
    """Return the context in which a form is assessed."""
    context = requests.load_context(
        team,
        submission,
        resources=resources,
        now=now,
        sweep_size=max(1, len(form.sweep.arguments)),
        by=by,
        is_preview=True,
        expected=form.expected,
        cap_usd=form.cap_usd,
    )
    states = known_quotas.recent_quotas(submission.project, submission.region, now=now)
    in_folder = requests.jobs_in_folder(submission, team)
    return replace(context, quota_states=states, image_states=_images(form, team, submission, now), in_folder=in_folder)


def _images(form: Compose, team: Team, submission: Submission, now: datetime) -> Mapping[str, ImageState]:
    """Return the known states of the images, shown at the worker pools, and of the output folder.

    Unknown states are requested.
    """
    images = list(images_of(submission))
    known = known_images(team, (folder_of(submission), *(name for _index, _path, name in images)), now=now)
    for index, _path, name in images:
        if index < len(form.pools):
            form.pools[index].image_state = known.states.get(name)
    if known.is_asked:
        tasks.enqueue_images()
    return known.states


def _strategies(form: Compose, assessment: Assessment | None, advice: ShownAdvice) -> dict[str, Any]:
    """Return the rows of the strategies, each with its radio button, and Google's advice."""
    chosen = str(form.job["strategy"].value() or "")
    rows = strategy_rows(assessment.alternatives if assessment is not None else (), chosen=chosen, spot=advice.spot)
    return {
        "advice": advice,
        "rows": rows,
        "strategy": strategies.STRATEGIES.get(chosen),
        "strategy_choices": zip(form.job["strategy"], rows, strict=True),
        "tells_waits": any(row.wait for row in rows),
        "axis_usd": max(row.axis_usd for row in rows),
    }


def stale_prices(assessment: Assessment | None, now: datetime) -> str:
    """Return a sentence that the prices of the estimate are old, or "" if they are not or there is no estimate."""
    cost = assessment.estimate if assessment is not None else None
    if cost is None or cost.usd_per_hour is None or cost.prices_as_of is None or not cost.has_stale_prices(now.date()):
        return ""
    day, age = day_of(cost.prices_as_of.isoformat()), (now.date() - cost.prices_as_of).days
    words = _("%(strategy)s is priced as of %(day)s, %(age)s days ago.")
    return words % {"strategy": strategies.STRATEGIES[cost.strategy].label, "day": day, "age": age}


@lru_cache(maxsize=256)
def _permissions(needed: tuple[Permission, ...], language: str | None) -> str:
    """Render the permissions of the job's accounts. Cached, because few edits change them."""
    del language  # only part of the cache key
    return render_to_string("compose/permissions.html", {"needed": needed})


def _known_resources(form: Compose, project: str) -> Known:
    """Return the persistent resources of the project and region if the job runs on one, and start polling them."""
    values = form.job.cleaned_data
    if not strategies.is_on_resource(values.get("strategy", "")):
        return ()
    region = values.get("region", "")
    observation.follow_resources([project], region=region, now=display_now())
    return requests.resources_in(project, region)


def _words(known: KnownResource) -> str:
    """Return the pools of a resource with their free replicas, such as `2 of 4 × a2-highgpu-1g free`."""
    parts, words = enumerate(known.resource.resource_pools), _("%(free)s of %(count)s × %(machine)s free")
    return "; ".join(
        words
        % {
            "free": max(0, part.most_replicas - known.used(at)),
            "count": part.most_replicas,
            "machine": part.machine_spec.machine_type,
        }
        for at, part in parts
    )


class RequestText(NamedTuple):
    """The request as text with its digest, whether it can be edited, and whether it has unapplied edits."""

    text: str
    digest: str
    is_editable: bool = False
    is_edited: bool = False
    findings: Sequence[Finding] = ()

    @property
    def is_unreadable(self) -> bool:
        """Whether an error prevents the form from being filled from the text."""
        return self.is_edited and any(each.severity is Severity.ERROR for each in self.findings)


def placing_of(form: Compose, team: Team, project: str, now: datetime) -> Callable[[Submission], Placed]:
    """Return what puts a text beside the form into a place: its project counts, since it is the newer choice."""
    wanted = Place(project, str(form.data.get("region") or team.default_region), yields=True)
    return partial(place, team=team, wanted=wanted, allowed=recent_allowed(team, now))


def _request_text(form: Compose, submission: Submission | None, team: Team, project: str, now: datetime) -> RequestText:
    """Return the request in the chosen format. Text that the user is editing is returned unchanged."""
    written = form.job.cleaned_data.get("written", "")
    if is_edited(form.data):
        posted, digest = str(form.data["request_text"]), str(form.data["text_digest"])
        placing = placing_of(form, team, project, now)
        findings = form.text_findings or check_text(form.data, submission, place=placing)
        return RequestText(posted, digest, is_editable=True, is_edited=True, findings=findings)
    if form.is_from_text:
        text = str(form.data["request_text"])
        return RequestText(text, text_digest(text), is_editable=True, findings=form.text_findings)
    if submission is None:
        return RequestText("", text_digest(""))
    try:
        text = exporter.write(submission, written if written in exporter.FORMATS else "rest")
    except exporter.NotWritable as reason:
        return RequestText(str(reason), text_digest(str(reason)))
    return RequestText(text, text_digest(text), is_editable=written in EDITABLE)
