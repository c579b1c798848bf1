"""Remove everything that a run, or one that was killed, has created: jobs, persistent resources, objects."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime

from jobs.conformance.journal import Journal, Request
from jobs.conformance.lab import ENDED, LABEL, RESOURCE, Clock, state
from jobs.spec import COLLECTIONS
from jobs.vertex import NotFound, RemoteJob, VertexClient, VertexError, quoted, wire

MAX_SECONDS = 1_800
"""The most that a cleaning waits for ends; the rest stays in the journal."""
DOUBT_SECONDS = 30
"""How long a job whose create was not answered is looked for: a list may show it late (vertex-facts 11.4)."""
PAUSE_SECONDS = 5
MAX_OBJECTS = 1_000
KINDS = ("training_pipeline", "hyperparameter_tuning_job", "custom_job")
"""Those that create jobs of their own come first."""

Report = Callable[[str], object]


def clean_up(
    requests: Sequence[Request], *, vertex: VertexClient, journal: Journal, clock: Clock, report: Report
) -> list[str]:
    """Cancel, wait for and delete what these requests created, and close their entries. Return what is left.

    Raise VertexError if Vertex AI cannot be asked; the entries then stay open.
    """
    left: list[str] = []
    for place in dict.fromkeys((each.project, each.region, each.run, each.folder) for each in requests):
        mine = [each for each in requests if (each.project, each.region, each.run, each.folder) == place]
        cleaning = _Cleaning(mine, vertex, clock)
        remaining = cleaning.clean()
        left += remaining
        if not remaining:
            for request in mine:
                journal.close(request)
        else:
            report(f"Still there: {', '.join(remaining)}.")
    return left


class _Cleaning:
    """The cleaning of one run in one region."""

    def __init__(self, requests: Sequence[Request], vertex: VertexClient, clock: Clock) -> None:
        self._requests, self._vertex, self._clock = requests, vertex, clock
        first = requests[0]
        self._place = {"project": first.project, "region": first.region}
        self._filter, self._folder = f"labels.{LABEL}={quoted(first.run)}", first.folder
        self._names = {each.name: each.kind for each in requests if each.name and each.kind != RESOURCE}
        """The jobs that are known by name, and their kinds. Jobs made by a pipeline or tuning job are added."""

    def clean(self) -> list[str]:
        """Remove everything and return the names of what is left."""
        began = self._clock.now()
        is_in_doubt = any(not each.name for each in self._requests)
        kinds = {each.kind for each in self._requests} - {RESOURCE}
        while True:
            left = [job for kind in KINDS if kind in (kinds | {"custom_job"}) for job in self._end_jobs(kind)]
            waited = self._since(began)
            if (not left and not (is_in_doubt and waited < DOUBT_SECONDS)) or waited > MAX_SECONDS:
                break
            self._clock.sleep(PAUSE_SECONDS)
        left += [name for each in self._requests if each.kind == RESOURCE and (name := self._end_resource(each.name))]
        return [*left, *self._delete_objects()]

    def _since(self, began: datetime) -> float:
        return (self._clock.now() - began).total_seconds()

    def _end_jobs(self, kind: str) -> list[str]:
        """Cancel the active jobs of a kind, delete the ended ones, and return the names of those that were there."""
        found = {job.name: job for job in self._vertex.list(kind, filter=self._filter, **self._place)}
        for name in [name for name, of in self._names.items() if of == kind and name not in found]:
            try:
                found[name] = self._vertex.get(kind, name)
            except NotFound:
                del self._names[name]
        for name, job in found.items():
            self._add_children(job)
            with suppress(VertexError):  # it may end, or be deleted, at this moment; the next look shows it
                if state(job) in ENDED:
                    self._vertex.delete(kind, name)
                else:
                    self._vertex.cancel(kind, name)
        return list(found)

    def _add_children(self, job: RemoteJob) -> None:
        """Remember the custom jobs that a tuning job or a pipeline has created."""
        trials = job.raw.get("trials")
        if trials is None and f"/{COLLECTIONS['hyperparameter_tuning_job']}/" in job.name:
            with suppress(VertexError):  # a list leaves out the trials
                trials = self._vertex.get("hyperparameter_tuning_job", job.name).raw.get("trials")
        names = [wire.mapping(each).get("customJob") for each in (trials if isinstance(trials, list) else [])]
        names.append(wire.mapping(job.raw.get("trainingTaskMetadata")).get("backingCustomJob"))
        self._names |= {str(name): "custom_job" for name in names if wire.is_name("custom_job", name)}

    def _end_resource(self, resource_id: str) -> str:
        """Delete a persistent resource and wait until it is gone. Return its id if it is still there."""
        began = self._clock.now()
        while self._since(began) < MAX_SECONDS:
            try:
                self._vertex.persistent_resource(resource_id=resource_id, **self._place)
            except NotFound:
                return ""
            with suppress(VertexError):  # it may be provisioning or deleted already
                self._vertex.change_resource("delete", resource_id=resource_id, body={}, **self._place)
            self._clock.sleep(PAUSE_SECONDS)
        return resource_id

    def _delete_objects(self) -> list[str]:
        """Delete what the jobs wrote to the bucket. Return the folder if something is left."""
        bucket, _, _ = self._folder.removeprefix("gs://").partition("/")
        try:
            for each in self._vertex.objects(self._folder, limit=MAX_OBJECTS):
                self._vertex.delete_object(bucket, each.name)
        except NotFound:
            return []
        except VertexError:
            return [self._folder]
        return []
