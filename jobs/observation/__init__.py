"""Turn what Vertex AI and its logs report into states and events. Discover and adopt jobs made elsewhere."""

from jobs.observation.adopt import adopt, submission_in
from jobs.observation.discovery import discover, hint_of, request_discovery
from jobs.observation.log_feeds import follow_log, read_feed
from jobs.observation.persistent_resources import follow_resources, poll_soon, watch_resources
from jobs.observation.restarts import record_restarts
from jobs.observation.starts import record_logged_runs
from jobs.observation.trial_jobs import count_trials
from jobs.observation.watched import ERROR_WINDOW

__all__ = [
    "ERROR_WINDOW",
    "adopt",
    "count_trials",
    "discover",
    "follow_log",
    "follow_resources",
    "hint_of",
    "poll_soon",
    "read_feed",
    "record_logged_runs",
    "record_restarts",
    "request_discovery",
    "submission_in",
    "watch_resources",
]
