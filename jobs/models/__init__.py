"""The rows: columns, constraints and querysets. They hold no verbs; `jobs.lifecycle` writes them."""

from jobs.models.approval import Approval
from jobs.models.draft import Draft
from jobs.models.event import JobEvent
from jobs.models.job import Job
from jobs.models.log_feed import LogFeed
from jobs.models.log_line import LogLine
from jobs.models.rule_setting import RuleSetting
from jobs.models.scope import Scope
from jobs.models.team import Membership, Policy, Role, Team
from jobs.models.template import Template

__all__ = [
    "Approval",
    "Draft",
    "Job",
    "JobEvent",
    "LogFeed",
    "LogLine",
    "Membership",
    "Policy",
    "Role",
    "RuleSetting",
    "Scope",
    "Team",
    "Template",
]
