"""After a restore, look up at Vertex AI what the database may have forgotten. `manage.py restored --look-up` prints it.

Two things are looked up: each unsent request by its label, and the active jobs of this instance in every project and
region of a job. Active jobs of requests that the database does not know are stored as `UnmatchedJob`, so that admins
see them and people can adopt them. Nothing is sent, cancelled or followed here: workers do that.
"""

from collections.abc import Iterator

from django.conf import settings

from jobs import vertex
from jobs.clients import INSTANCE_LABEL, JOB_LABEL, client
from jobs.clock import Clock
from jobs.models import Job
from jobs.observation.adopt import UUID_FORM
from jobs.observation.observe import JOB_ENDED, PIPELINE_ENDED
from jobs.observation.record import number
from jobs.states import NOT_SENT
from jobs.submission.adapters import VertexRemote, save_unmatched

Line = tuple[str, bool]
"""A sentence about something that was looked up, and whether Vertex AI answered."""


def look_up_requests(clock: Clock) -> Iterator[Line]:
    """Look up every unsent request by its label. Yield one line for each."""
    remote = VertexRemote(clock)
    unsent = Job.objects.filter(state__in=NOT_SENT).select_related("team").order_by("requested_at", "pk")
    for job in unsent:
        about = f"Request {job.display_name} of {job.team} ({job.pk})"
        try:
            found = remote.find(job)
        except vertex.VertexError as error:
            yield f"{about}: no answer. {error}", False
            continue
        names = ", ".join(f"{number(each)} ({each.state})" for each in found)
        yield f"{about}: " + (f"was sent as {names}." if found else "Vertex AI has no job of it."), True


def look_up_labels(clock: Clock) -> Iterator[Line]:
    """List the active jobs of this instance where the database has jobs. Yield one line for each place."""
    places = Job.objects.order_by("project", "region", "kind", "acts_as").values_list(
        "project", "region", "kind", "acts_as"
    )
    for project, region, kind, acts_as in places.distinct():
        about = f"{project}, {region}, {Job.Kind(kind).label}s"
        ended = PIPELINE_ENDED if kind == Job.Kind.PIPELINE else JOB_ENDED
        terms = [f'labels.{INSTANCE_LABEL}="{settings.INSTANCE}"', *(f'state!="{state}"' for state in ended)]
        try:
            listed = client(acts_as).list(kind, project=project, region=region, filter=" AND ".join(terms))
        except vertex.VertexError as error:
            yield f"{about}: no answer. {error}", False
            continue
        unknown = _record_unknown(listed, {"project": project, "region": region, "kind": kind}, clock)
        yield f"{about}: {len(listed)} active, {len(unknown)} of them unknown to this database.", True
        for remote in unknown:
            yield f"  {number(remote)} {remote.display_name} ({remote.state}) was requested after the backup.", True


def _record_unknown(listed: list[vertex.RemoteJob], place: dict[str, str], clock: Clock) -> list[vertex.RemoteJob]:
    """Store and return the listed jobs whose request has no row. Labels of other kinds are of parts of a job."""
    labels = {remote.labels.get(JOB_LABEL, "") for remote in listed}
    known = {
        str(pk) for pk in Job.objects.filter(pk__in=filter(UUID_FORM.fullmatch, labels)).values_list("pk", flat=True)
    }
    known |= set(Job.objects.filter(remote_name__in=[r.name for r in listed]).values_list("remote_name", flat=True))
    unknown = [each for each in listed if each.name not in known and each.labels.get(JOB_LABEL, "") not in known]
    for remote in unknown:
        save_unmatched(remote, job=None, place=place, has_ended=False, now=clock.now())
    return unknown
