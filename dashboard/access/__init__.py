"""Who you are and what you may do: roles, and loaders that find a row or answer 404.

The only part of the site that touches `jobs.models`; pages take rows and row types from here.
"""

from dashboard.access.jobs import (
    events_of,
    failing_scopes,
    job_for,
    job_to_approve,
    jobs_of,
    moves_since,
    open_approvals,
    questions,
    to_decide,
)
from dashboard.access.logs import (
    attempt_beginnings,
    line_before,
    lines_from,
    log_lines,
    log_replicas,
    log_tail,
    program_output,
    service_errors,
    silent_log,
)
from dashboard.access.roles import Request, can, teams_of, teams_to_request, teams_where
from dashboard.access.studies import study_job_for, trials_of
from jobs.models import Approval, Job, JobEvent, LogLine, Scope, Team, Template, Trial

__all__ = [
    "Approval",
    "Job",
    "JobEvent",
    "LogLine",
    "Request",
    "Scope",
    "Team",
    "Template",
    "Trial",
    "attempt_beginnings",
    "can",
    "events_of",
    "failing_scopes",
    "job_for",
    "job_to_approve",
    "jobs_of",
    "line_before",
    "lines_from",
    "log_lines",
    "log_replicas",
    "log_tail",
    "moves_since",
    "open_approvals",
    "program_output",
    "questions",
    "service_errors",
    "silent_log",
    "study_job_for",
    "teams_of",
    "teams_to_request",
    "teams_where",
    "to_decide",
    "trials_of",
]
