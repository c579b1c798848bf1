"""Other places that show a job: Google's console, its logs, its output folder, TensorBoard.

Sources: for addresses of jobs and TensorBoard, `_dashboard_uri` in jobs.py and console_utils.py of
google-cloud-aiplatform 2.7.0; of a query, "Share a query"
(docs.cloud.google.com/logging/docs/view/logs-explorer-interface); of a folder, the console itself. Read 2026-11-22.
"""

from urllib.parse import quote

from django.utils.translation import gettext as _

from dashboard.pages.parts.log_command import filter_of
from jobs.models import Job
from jobs.spec.body import custom_job_spec, output_folder

CONSOLE = "https://console.cloud.google.com"
MAX_SHELLS = 4
"""Maximum shells linked, of the first replicas. The console lists all."""
PARTS_OF_BOARD = 6
"""Number of parts in projects/P/locations/L/tensorboards/ID."""


def links_of(job: Job, *, may_enter: bool = True) -> list[tuple[str, str]]:
    """Return (label, address) of each place; [] before the job exists at Vertex AI.

    An interactive shell has an address only while the job runs. If Vertex AI did not report it, link the job's page in
    the console, which has it. The shell has the job's permissions, so it is offered only if `may_enter`.
    """
    if not job.remote_name:
        return []
    project, region, number = (quote(part, safe="") for part in (job.project, job.region, job.remote_id))
    page = f"{CONSOLE}/agent-platform/locations/{region}/training/{number}?project={project}"
    links = [(_("Cloud console"), page)]
    if query := filter_of(job):
        links.append((_("Logs Explorer"), f"{CONSOLE}/logs/query;query={quote(query, safe='')}?project={project}"))
    if folder := output_folder(job.spec).removeprefix("gs://").rstrip("/"):
        links.append((_("Output folder"), f"{CONSOLE}/storage/browser/{quote(folder, safe='/')}?project={project}"))
    if board := _tensorboard(job):
        links.append(("TensorBoard", board))
    if custom_job_spec(job.spec).get("enableWebAccess") is True and job.running_since is not None and may_enter:
        shells = sorted((job.web_access_uris or {}).items())[:MAX_SHELLS]
        links += [(_("Interactive shell: %(name)s") % {"name": name}, uri) for name, uri in shells]
        links += [] if shells else [(_("Interactive shell, in the console"), page)]
    return links


def _tensorboard(job: Job) -> str:
    """Return the address of the experiment that Vertex AI creates for a custom job, or "" without a TensorBoard."""
    board = custom_job_spec(job.spec).get("tensorboard")
    parts = board.split("/") if isinstance(board, str) else []
    if len(parts) != PARTS_OF_BOARD or job.kind != Job.Kind.CUSTOM_JOB:
        return ""
    name = "+".join(quote(part, safe="") for part in (*parts, "experiments", job.remote_id))
    return f"https://{quote(parts[3], safe='')}.tensorboard.googleusercontent.com/experiment/{name}"
