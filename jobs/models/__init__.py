"""The rows: columns, constraints and querysets. They hold no verbs; `jobs.lifecycle` writes them."""

from jobs.models.approval import Approval
from jobs.models.draft import Draft
from jobs.models.event import JobEvent
from jobs.models.foreign_job import ForeignJob, Survey
from jobs.models.installation import Installation
from jobs.models.job import Job
from jobs.models.log_feed import LogFeed
from jobs.models.log_line import LogLine
from jobs.models.pool import Pool
from jobs.models.prepared import Prepared, given
from jobs.models.retention import RetentionSetting, Upkeep
from jobs.models.rule_setting import RuleSetting
from jobs.models.scope import Scope
from jobs.models.set_aside import SetAsideItem
from jobs.models.shown import ShownJob, hide_in
from jobs.models.sighting import Sighting
from jobs.models.team import Membership, Policy, Role, Team
from jobs.models.template import Template
from jobs.models.trial import Trial
from jobs.models.unmatched_job import UnmatchedJob

__all__ = [
    "Approval",
    "Draft",
    "ForeignJob",
    "Installation",
    "Job",
    "JobEvent",
    "LogFeed",
    "LogLine",
    "Membership",
    "Policy",
    "Pool",
    "Prepared",
    "RetentionSetting",
    "Role",
    "RuleSetting",
    "Scope",
    "SetAsideItem",
    "ShownJob",
    "Sighting",
    "Survey",
    "Team",
    "Template",
    "Trial",
    "UnmatchedJob",
    "Upkeep",
    "given",
    "hide_in",
]
