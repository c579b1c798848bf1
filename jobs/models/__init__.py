"""The rows: columns, constraints and querysets. They hold no verbs; `jobs.transitions` writes states and events."""

from jobs.models.account import Identity, Invitation, Profile, SignedInBrowser, SignInRule
from jobs.models.allowed_resource import AllowedResource
from jobs.models.api_token import ApiToken
from jobs.models.approval import Approval, AskedGroup
from jobs.models.audited_team import AuditedTeam
from jobs.models.billing import BilledAmount, BillingImport
from jobs.models.budget import Budget, BudgetChange, BudgetNotice
from jobs.models.channel import Channel, Digest, MessagePreference, Via
from jobs.models.draft import Draft
from jobs.models.event import JobEvent
from jobs.models.external_job import Discovery, ExternalJob
from jobs.models.fallback import Fallback, FallbackAttempt
from jobs.models.figures import JobFigures, LearnedFigures, MonthFigures
from jobs.models.heartbeat import Heartbeat, MetricCount
from jobs.models.image import ImageReading
from jobs.models.installation import Installation
from jobs.models.job import Job
from jobs.models.job_metrics import JobMetrics
from jobs.models.last_seen import LastSeen
from jobs.models.log_feed import LogFeed
from jobs.models.log_line import LogLine
from jobs.models.message import Delivery, Message
from jobs.models.persistent_resource import PersistentResource
from jobs.models.policy_version import PolicyVersion
from jobs.models.price import Price
from jobs.models.quota import QuotaReading
from jobs.models.resource_change import ResourceChange
from jobs.models.resource_size import ResourceSize, ResourceSpend
from jobs.models.retention import RetentionSetting, Upkeep
from jobs.models.rule_setting import RuleSetting
from jobs.models.saved_view import SavedView
from jobs.models.schedule import Schedule, ScheduleRun
from jobs.models.scope import Scope
from jobs.models.set_aside import SetAsideItem
from jobs.models.shown import ShownJob, hide_in
from jobs.models.spend import Committed, DaySpend, Dimension, JobSpend, MonthSpend
from jobs.models.team import Membership, Policy, Role, Team
from jobs.models.template import Template
from jobs.models.trial import Trial
from jobs.models.unmatched_job import UnmatchedJob
from jobs.models.vote import Deputy, Vote

__all__ = [
    "AllowedResource",
    "ApiToken",
    "Approval",
    "AskedGroup",
    "AuditedTeam",
    "BilledAmount",
    "BillingImport",
    "Budget",
    "BudgetChange",
    "BudgetNotice",
    "Channel",
    "Committed",
    "DaySpend",
    "Delivery",
    "Deputy",
    "Digest",
    "Dimension",
    "Discovery",
    "Draft",
    "ExternalJob",
    "Fallback",
    "FallbackAttempt",
    "Heartbeat",
    "Identity",
    "ImageReading",
    "Installation",
    "Invitation",
    "Job",
    "JobEvent",
    "JobFigures",
    "JobMetrics",
    "JobSpend",
    "LastSeen",
    "LearnedFigures",
    "LogFeed",
    "LogLine",
    "Membership",
    "Message",
    "MessagePreference",
    "MetricCount",
    "MonthFigures",
    "MonthSpend",
    "PersistentResource",
    "Policy",
    "PolicyVersion",
    "Price",
    "Profile",
    "QuotaReading",
    "ResourceChange",
    "ResourceSize",
    "ResourceSpend",
    "RetentionSetting",
    "Role",
    "RuleSetting",
    "SavedView",
    "Schedule",
    "ScheduleRun",
    "Scope",
    "SetAsideItem",
    "ShownJob",
    "SignInRule",
    "SignedInBrowser",
    "Team",
    "Template",
    "Trial",
    "UnmatchedJob",
    "Upkeep",
    "Via",
    "Vote",
    "hide_in",
]
