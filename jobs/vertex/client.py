"""The calls to Vertex AI and Cloud Logging. Each has a time limit, is made once, and returns or raises VertexError."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from jobs.spec import COLLECTIONS
from jobs.vertex import answers, errors, logs, monitoring, storage, wire
from jobs.vertex.caller import BeforePage, OnOdd, Timeout, nothing, pages_of
from jobs.vertex.deadline import at_most
from jobs.vertex.resource_calls import ResourceCaller

__all__ = ["Timeout", "VertexClient"]

RemoteJobs = list[wire.RemoteJob]
LogEntries = list[logs.LogEntry]


class VertexClient(ResourceCaller):
    """The client of one endpoint. It can be shared between threads.

    `endpoint` is "" for Google's regional endpoints and may contain `{location}`. `logging_endpoint` is "" for Cloud
    Logging, or for `endpoint` if that is plain HTTP. `credentials` is None for Application Default Credentials, looked
    up at the first call; over plain HTTP there are then none. The content of `token_file` is sent as a bearer token to
    an emulator on this machine. `acts_as` is the service account that the calls are made as. `iam_endpoint` provides
    its tokens and is "" for Google's. `on_exchange` gets every answer of Google's APIs as it arrived.

    Raise ValueError for an invalid endpoint, and for credentials that would leave this machine unencrypted. Every
    method raises `errors.VertexError`. Methods that may make several calls, one for each page, call `before_page`
    before each of them. An exception of `before_page` ends the method.
    """

    def create(self, kind: str, *, project: str, region: str, body: Mapping[str, Any]) -> wire.RemoteJob:
        """Create a job from its REST body. It starts at once."""
        call = self._to_collection("POST", kind, project, region)
        return _job(call, kind, self._send(call, body=body))

    def get(self, kind: str, name: str) -> wire.RemoteJob:
        """Return one job by its full name, with everything that Vertex AI returns about it."""
        call = self._to_job("GET", kind, name)
        return _job(call, kind, self._send(call))

    def cancel(self, kind: str, name: str) -> None:
        """Request the end of a job. It continues for a while and may still succeed or fail by itself."""
        self._send(self._to_job("POST", kind, name, ":cancel"), body={})

    def delete(self, kind: str, name: str) -> bool:
        """Delete an ended job. Return False if the deletion has started but not finished."""
        call = self._to_job("DELETE", kind, name)
        if failed := wire.rpc_status((operation := self._send(call)).get("error")):
            raise errors.Refused(failed["message"] or "It failed.", method=call.method, url=call.url, status=200)
        return operation.get("done") is True

    def log(
        self,
        project: str,
        *,
        job_ids: Sequence[str],
        after: datetime | None,
        limit: int,
        newest: bool = False,
        before_page: BeforePage = nothing,
        on_odd: OnOdd | None = None,
    ) -> LogEntries:
        """Return the oldest (or newest) `limit` lines of these jobs from `after` on (inclusive), in order of time.

        `job_ids` are the numbers at the end of the jobs' names. A line read before is returned again if its time is
        `after`; (timestamp, insert_id) identifies it. An entry without a time is left out and passed to `on_odd`.
        """
        found: LogEntries = []
        with at_most(self._timeout.total):
            for first in range(0, len(job_ids) if limit > 0 else 0, logs.JOBS_PER_FILTER):
                ids = job_ids[first : first + logs.JOBS_PER_FILTER]
                body = logs.list_body(project, ids, after=after, limit=limit, newest=newest)
                found += self._lines(body, limit, before_page, on_odd)
        found.sort(key=lambda entry: (entry.timestamp, entry.insert_id))
        return found[-limit:] if newest else found[:limit]

    def service_log(
        self,
        project: str,
        *,
        after: datetime,
        limit: int,
        job_ids: Sequence[str] = (),
        before_page: BeforePage = nothing,
        on_odd: OnOdd | None = None,
    ) -> LogEntries:
        """Return the oldest `limit` lines that Vertex AI itself logged about a project's jobs, from `after` on.

        `job_ids` names at most a page of jobs; if it is empty, all jobs are included. For `on_odd` see `log`.
        """
        body = logs.list_body(project, job_ids, after=after, limit=limit, of_service=True)
        with at_most(self._timeout.total):
            return self._lines(body, limit, before_page, on_odd)[:limit]

    def objects(self, folder: str, *, limit: int) -> Sequence[storage.StoredObject]:
        """Return at most `limit` objects below a folder, gs://bucket/path, in the order of their names."""
        path, query = storage.list_path(folder)
        call = answers.Call("GET", f"{self._storage_endpoint}{path}", "Cloud Storage")
        found: list[storage.StoredObject] = []
        with at_most(self._timeout.total):
            for items in self._paged(call, "items", query, before_page=nothing, tries=1):
                found += [each for each in map(storage.stored_object, items) if each is not None]
                if len(found) >= limit:
                    break
        return found[:limit]

    def delete_object(self, bucket: str, name: str) -> None:
        """Delete one object of a bucket."""
        path = storage.object_path(bucket, name)
        self._send(answers.Call("DELETE", f"{self._storage_endpoint}{path}", "Cloud Storage"))

    def used(
        self, project: str, metric: str, *, job_id: str, since: datetime, until: datetime
    ) -> Sequence[monitoring.Point]:
        """Return the usage of a job's replicas from `since` to `until`, oldest first; see `monitoring.METRICS`."""
        path, query = monitoring.list_path(project, metric, job_id, since=since, until=until)
        call = answers.Call("GET", f"{self._monitoring_endpoint}{path}", "Cloud Monitoring")
        points: list[monitoring.Point] = []
        with at_most(self._timeout.total):
            for items in self._paged(call, "timeSeries", query, before_page=nothing, tries=1):
                points += [point for item in items for point in monitoring.points(item)]
                if len(points) >= monitoring.MAX_POINTS:
                    break
        return sorted(points)[-monitoring.MAX_POINTS :]

    def list(
        self,
        kind: str,
        *,
        project: str,
        region: str,
        filter: str = "",  # noqa: A002 - Google's word
        fields: Sequence[str] = (),
    ) -> RemoteJobs:
        """Return all jobs of a kind in a region that match `filter`, from every page: see `pages`."""
        with at_most(self._timeout.total):
            pages = self.pages(kind, project=project, region=region, filter=filter, fields=fields)
            return [job for page in pages for job in page]

    def pages(
        self,
        kind: str,
        *,
        project: str,
        region: str,
        filter: str = "",  # noqa: A002 - Google's word
        fields: Sequence[str] = (),
        before_page: BeforePage = nothing,
        tries: int = 1,
        on_odd: OnOdd | None = None,
    ) -> Iterator[RemoteJobs]:
        """Yield the jobs of a kind in a region that match `filter`, page by page. Each page has its own time limit.

        `filter` is in Google's syntax (`labels.team="a" AND state!="JOB_STATE_FAILED"`). `fields` names the fields to
        return of each job, in camelCase; if it is empty, all are returned. The order is Google's and not documented. A
        page after the first that brings no usable answer is requested up to `tries` times, because a list of a hundred
        pages would otherwise hardly ever be complete. An item that is not a job is left out and passed to `on_odd`.
        Without `on_odd` it makes the whole answer unusable.
        """
        call = self._to_collection("GET", kind, project, region)
        query = wire.list_query(filter, fields)
        for items in self._paged(call, COLLECTIONS[kind], query, before_page=before_page, tries=tries):
            yield list(_jobs(call, kind, items, on_odd))

    def _lines(self, body: dict[str, Any], limit: int, before_page: BeforePage, on_odd: OnOdd | None) -> LogEntries:
        call = answers.Call("POST", f"{self._logging_endpoint}/v2/entries:list", "Cloud Logging")
        found: LogEntries = []

        def ask(token: str) -> dict[str, Any]:
            before_page()
            return self._send(call, body=body | ({"pageToken": token} if token else {}))

        for items in pages_of(call, "entries", ask):
            for item in items:
                entry = logs.log_entry(item)
                if entry is not None:
                    found.append(entry)
                elif on_odd is not None:
                    on_odd(item, "The entry has no valid time.")
            if len(found) >= limit:
                break
        return found

    def _to_collection(self, method: str, kind: str, project: str, region: str) -> answers.Call:
        try:
            url = wire.collection_url(self._endpoint, kind, project=project, region=region)
        except ValueError as error:
            raise errors.Refused(str(error), method=method) from None
        return answers.Call(method, url, "Vertex AI")

    def _to_job(self, method: str, kind: str, name: str, verb: str = "") -> answers.Call:
        try:
            return answers.Call(method, wire.job_url(self._endpoint, kind, name) + verb, "Vertex AI")
        except ValueError as error:
            raise errors.Refused(str(error), method=method) from None


def _jobs(call: answers.Call, kind: str, items: list[Any], on_odd: OnOdd | None) -> Iterator[wire.RemoteJob]:
    for item in items:
        try:
            yield wire.remote_job(kind, item)
        except ValueError as error:
            if on_odd is None:
                raise answers.unusable(call, str(error)) from None
            on_odd(item, f"The entry is {error}.")


def _job(call: answers.Call, kind: str, value: object) -> wire.RemoteJob:
    try:
        return wire.remote_job(kind, value)
    except ValueError as error:
        raise answers.unusable(call, str(error)) from None
