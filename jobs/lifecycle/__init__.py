"""The verbs: what can be done to a job, and the only writers of its rows.

Read in this order: `request` (a spec becomes a job), `approval` (a person says yes or no), `submit` (the job is created
at Vertex AI, once), `observe` (Vertex AI's answers become events), `feeds` (logs are read), `restarts` (both tell
restarts), `cancel`, and under all of them `door`, the one function through which a state changes. A step towards Vertex
AI has three parts that are never mixed: load (a short transaction that claims the row), act (network, no transaction),
apply (a short transaction guarded by the claim).
"""

from jobs.lifecycle.approval import approve, reject
from jobs.lifecycle.cancel import cancel, send_cancel
from jobs.lifecycle.errors import NotAllowed, NotPermitted
from jobs.lifecycle.feeds import read_feed, want_log
from jobs.lifecycle.observe import observe
from jobs.lifecycle.queue import advance, due_feeds, due_jobs, due_scopes
from jobs.lifecycle.repair import repair
from jobs.lifecycle.request import Preview, limits_of, preview, request_job, submission_of
from jobs.lifecycle.rules import CHOICES as SEVERITY_CHOICES
from jobs.lifecycle.rules import DEFAULT as DEFAULT_SEVERITY
from jobs.lifecycle.rules import rule_settings, set_severity, severities
from jobs.lifecycle.submit import submit
from jobs.models import RuleSetting

__all__ = [
    "DEFAULT_SEVERITY",
    "SEVERITY_CHOICES",
    "NotAllowed",
    "NotPermitted",
    "Preview",
    "RuleSetting",
    "advance",
    "approve",
    "cancel",
    "due_feeds",
    "due_jobs",
    "due_scopes",
    "limits_of",
    "observe",
    "preview",
    "read_feed",
    "reject",
    "repair",
    "request_job",
    "rule_settings",
    "send_cancel",
    "set_severity",
    "severities",
    "submission_of",
    "submit",
    "want_log",
]
