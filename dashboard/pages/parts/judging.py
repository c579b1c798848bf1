"""A compose form judged once: what is submitted, what policy says, and everything that the page shows of both."""

from dataclasses import dataclass
from typing import Any

from dashboard.access import Team
from dashboard.forms.compose.whole import Compose
from dashboard.pages.parts.offers import has_machines, offers_of, ways_of
from jobs import convert, lifecycle, strategies
from jobs.lifecycle import Preview, database_now
from jobs.spec import Submission
from jobs.strategies import Known, KnownResource


@dataclass(frozen=True, slots=True)
class Judged:
    """The team, the submission and the preview (None while they cannot be made), and the page's context."""

    form: Compose
    team: Team
    submission: Submission | None
    preview: Preview | None
    context: dict[str, Any]

    @property
    def may_be_requested(self) -> bool:
        """Whether every field could be read and nothing refuses the job."""
        return self.form.is_readable and self.preview is not None and self.preview.decision.verdict != "refuse"


def judged(form: Compose, teams: list[Team]) -> Judged:
    """Read and judge a form; `teams` are those that the person may request jobs in, at least one."""
    form.read()
    team = next((each for each in teams if str(each.pk) == form.job.cleaned_data.get("team")), teams[0])
    submission = form.submission(project=team.project)
    weights = lifecycle.severities()
    pools = _known_pools(form, team)
    offers = offers_of(submission, form.expected, weights, pools)
    preview = None
    chosen = strategies.STRATEGIES.get(form.job.cleaned_data.get("strategy", ""))
    if submission is not None and chosen is not strategies.strategy_of(submission):
        # without what it still needs, this would be a job of another strategy
        form.put(strategies.check(submission, strategy=chosen, severities=weights))
    elif submission is not None and form.expected is not None:
        own = next((offer for offer in offers if offer.strategy is chosen), None)
        preview = lifecycle.preview(
            submission=submission, team=team, expected=form.expected, weights=weights, pools=pools, offer=own
        )
        form.put(preview.decision.findings)
    elif submission is not None:  # without a run time there is no cost to judge, but every rule still speaks
        form.put(strategies.check(submission, severities=weights, pools=pools))
    context = {
        "form": form,
        "job": form.job,
        "team": team,
        "preview": preview,
        "has_machines": has_machines(submission),
        "ways": ways_of(offers),
        "resources": [(known.resource_id, _words(known)) for known in pools if known.resource.state == "RUNNING"],
        "request_text": request_text(submission, form.job.cleaned_data.get("written", "")),
    }
    return Judged(form, team, submission, preview, context)


def _known_pools(form: Compose, team: Team) -> Known:
    """Return the persistent resources of the place, if the job is to run on one; whoever asks has them looked at."""
    said = form.job.cleaned_data
    if said.get("strategy") != "persistent":
        return ()
    region = said.get("region", "")
    lifecycle.want_pools([team.project], region=region, now=database_now())
    return lifecycle.pools_in(team.project, region)


def _words(known: KnownResource) -> str:
    """Say what a resource has, and what of it no job holds: `2 of 4 × a2-highgpu-1g free`."""
    parts = enumerate(known.resource.resource_pools)
    return "; ".join(
        f"{max(0, part.most_replicas - known.used(at))} of {part.most_replicas} × {part.machine_spec.machine_type} free"
        for at, part in parts
    )


def request_text(submission: Submission | None, written: str) -> str:
    """Return the request in the format that was chosen, a key of FORMATS; "" while there is none."""
    if submission is None:
        return ""
    try:
        return convert.write(submission, written if written in convert.FORMATS else "rest")
    except convert.NotWritable as reason:
        return str(reason)
