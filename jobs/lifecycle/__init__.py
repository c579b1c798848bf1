"""The verbs: what can be done to a job, and the only writers of its rows.

Three rooms in the order of a job's life: `asking` (a spec becomes a job that people allow, and what they keep),
`sending` (the job is created at Vertex AI, once, or cancelled) and `watching` (what Vertex AI and its logs say becomes
events). Under them `door`, the one function through which a state changes, `claims` and `budget`; over them `queue`
(what is due), `repair` and `audit`. A step towards Vertex AI has three parts that are never mixed: load (a short
transaction that claims the row), act (network, no transaction), apply (a short transaction guarded by the claim).
"""

from jobs.lifecycle.asking.approval import approve, reject
from jobs.lifecycle.asking.ours import check_is_ours
from jobs.lifecycle.asking.pools import known_pools, pools_in
from jobs.lifecycle.asking.request import Preview, limits_of, preview, request_job, submission_of
from jobs.lifecycle.asking.rules import CHOICES as SEVERITY_CHOICES
from jobs.lifecycle.asking.rules import DEFAULT as DEFAULT_SEVERITY
from jobs.lifecycle.asking.rules import rule_settings, set_severity, severities
from jobs.lifecycle.clock import Clock, DatabaseClock, database_now
from jobs.lifecycle.errors import NotAllowed, NotPermitted
from jobs.lifecycle.queue import advance, begin_sweep, cancel, due_feeds, due_jobs, due_scopes, due_surveys, observe
from jobs.lifecycle.repair import repair
from jobs.lifecycle.sending.delete import delete, may_delete
from jobs.lifecycle.sending.installation import mark_restored
from jobs.lifecycle.sending.installation import owner as database_owner
from jobs.lifecycle.spending import watch_spending
from jobs.lifecycle.watching.adopt import adopt, submission_in
from jobs.lifecycle.watching.feeds import read_feed, want_log
from jobs.lifecycle.watching.pools import want_pools, watch_pools
from jobs.lifecycle.watching.survey import ask_survey, hint_of, survey
from jobs.lifecycle.watching.watched import ERROR_WINDOW
from jobs.models import RuleSetting

__all__ = [
    "DEFAULT_SEVERITY",
    "ERROR_WINDOW",
    "SEVERITY_CHOICES",
    "Clock",
    "DatabaseClock",
    "NotAllowed",
    "NotPermitted",
    "Preview",
    "RuleSetting",
    "adopt",
    "advance",
    "approve",
    "ask_survey",
    "begin_sweep",
    "cancel",
    "check_is_ours",
    "database_now",
    "database_owner",
    "delete",
    "due_feeds",
    "due_jobs",
    "due_scopes",
    "due_surveys",
    "hint_of",
    "known_pools",
    "limits_of",
    "mark_restored",
    "may_delete",
    "observe",
    "pools_in",
    "preview",
    "read_feed",
    "reject",
    "repair",
    "request_job",
    "rule_settings",
    "set_severity",
    "severities",
    "submission_in",
    "submission_of",
    "survey",
    "want_log",
    "want_pools",
    "watch_pools",
    "watch_spending",
]
