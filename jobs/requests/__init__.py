"""Turn a submission into an approved job: requests, approvals, drafts, templates, and the site's rules."""

from jobs.models import RuleSetting
from jobs.permissions import check_is_ours
from jobs.requests.approval import Changed, approve, reject
from jobs.requests.context import RequestOptions, jobs_in_folder, load_context, submission_of
from jobs.requests.other_strategy import accept_change, approve_as, keep_request, most_under
from jobs.requests.persistent_resources import known_resources, resources_in
from jobs.requests.policy_versions import load_policy
from jobs.requests.request import request_job, request_jobs
from jobs.requests.request_keys import api_key, find_requested, given_key, is_request_of, keys_of_form, new_key
from jobs.requests.rule_settings import CHOICES as SEVERITY_CHOICES
from jobs.requests.rule_settings import DEFAULT as DEFAULT_SEVERITY
from jobs.requests.rule_settings import rule_settings, set_severity, severities
from jobs.requests.saved_views import MAX_VIEWS, Saved, delete_view, save_view

__all__ = [
    "DEFAULT_SEVERITY",
    "MAX_VIEWS",
    "SEVERITY_CHOICES",
    "Changed",
    "RequestOptions",
    "RuleSetting",
    "Saved",
    "accept_change",
    "api_key",
    "approve",
    "approve_as",
    "check_is_ours",
    "delete_view",
    "find_requested",
    "given_key",
    "is_request_of",
    "jobs_in_folder",
    "keep_request",
    "keys_of_form",
    "known_resources",
    "load_context",
    "load_policy",
    "most_under",
    "new_key",
    "reject",
    "request_job",
    "request_jobs",
    "resources_in",
    "rule_settings",
    "save_view",
    "set_severity",
    "severities",
    "submission_of",
]
