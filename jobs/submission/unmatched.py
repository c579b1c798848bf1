"""Match listed jobs that carry our label but that no row follows with their request, or keep them for people to see."""

from collections import defaultdict

from jobs.clients import JOB_LABEL
from jobs.models import Job, Scope, UnmatchedJob
from jobs.observation.observe import Listed
from jobs.submission import duplicates, submit
from jobs.submission.adapters import save_unmatched
from jobs.submission.ports import Ports
from jobs.vertex import RemoteJob, VertexError


def match_listed(scope_id: int, listed: Listed, ports: Ports) -> None:
    """Handle the active jobs of a scope that carry our label and that no row followed when they were listed.

    If the request is known, its job is followed, or is a duplicate and is cancelled. If the request is unknown, as
    after a restored backup, the job is kept as an `UnmatchedJob` for people to see and is not changed. A request
    creates jobs of its own kind only. A job of another kind is a part of the request's job, such as the custom job of a
    trial, which may have the same labels; it is ignored.
    """
    place = Scope.objects.filter(pk=scope_id).values("project", "region", "kind").get()
    of_request: dict[str, list[RemoteJob]] = defaultdict(list)
    for remote in listed.unmatched:
        of_request[remote.labels.get(JOB_LABEL, "")].append(remote)
    for job_id, remotes in of_request.items():
        if (job := ports.store.get(job_id)) is not None:
            if job.kind == place["kind"]:
                settle_request(job, remotes, ports)
            continue
        for remote in remotes:
            save_unmatched(remote, job=None, place=place, has_ended=False, now=ports.clock.now())
    if listed.is_complete:
        # A job that was listed as active before and is missing now has ended or is followed.
        names = [remote.name for remote in listed.unmatched]
        gone = UnmatchedJob.objects.filter(**place, ended_at=None).exclude(remote_name__in=names)
        gone.update(ended_at=ports.clock.now())


def settle_request(job: Job, remotes: list[RemoteJob], ports: Ports) -> None:
    """Follow one of the jobs listed for a request that has none yet. Every other one is a duplicate.

    A job that this database never sent may run another body, which the list of a scope leaves out. It is looked up with
    its body. If that fails, the next poll that lists the job repeats it.
    """
    if submit.is_unsent(job):
        try:
            found = remotes if job.submit_attempts else ports.remote.find(job)
        except VertexError:
            return
        if found:
            submit.follow(job, found, ports)
    else:
        duplicates.cancel_duplicates(job, remotes, ports)
