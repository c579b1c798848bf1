"""The models: columns, constraints and querysets. States and events are written by `jobs.transitions` only."""

from jobs.models.account import ApiToken, Identity, Invitation, Profile, SignedInBrowser, SignInRule
from jobs.models.approval import Approval, AskedGroup, Deputy, Vote
from jobs.models.audited_team import AuditedTeam
from jobs.models.billing import BilledAmount, BillingImport
from jobs.models.budget import Budget, BudgetChange, BudgetNotice
from jobs.models.catalogue import CatalogueEntry
from jobs.models.ceiling import Ceiling
from jobs.models.channel import Channel, Digest, MessagePreference, Via
from jobs.models.draft import Draft
from jobs.models.event import JobEvent
from jobs.models.external_job import Discovery, ExternalJob
from jobs.models.fallback import Fallback, FallbackAttempt
from jobs.models.figures import JobFigures, LearnedFigures, MonthFigures
from jobs.models.installation import Heartbeat, Installation, MetricCount
from jobs.models.job import Job
from jobs.models.ledger import CostEntry, Dimension, SpendSum
from jobs.models.message import Delivery, Message
from jobs.models.observed import JobMetrics, LastSeen, LogLine, UnmatchedJob
from jobs.models.persistent_resource import PersistentResource, ResourceChange, ResourceSize
from jobs.models.policy import PolicyVersion, RuleSetting
from jobs.models.polling import LogFeed, Scope
from jobs.models.price import Price
from jobs.models.proposal import Proposal
from jobs.models.readings import ImageReading, QuotaReading
from jobs.models.retention import RetentionSetting, Upkeep
from jobs.models.saved_view import SavedView
from jobs.models.schedule import Schedule, ScheduleRun
from jobs.models.seal import AuditSeal, SealedEntry
from jobs.models.set_aside import SetAsideItem
from jobs.models.shown import ShownJob, hide_in
from jobs.models.team import AllowedResource, Membership, Policy, Role, Team
from jobs.models.template import Template
from jobs.models.trial import Trial

__all__ = [
    "AllowedResource",
    "ApiToken",
    "Approval",
    "AskedGroup",
    "AuditSeal",
    "AuditedTeam",
    "BilledAmount",
    "BillingImport",
    "Budget",
    "BudgetChange",
    "BudgetNotice",
    "CatalogueEntry",
    "Ceiling",
    "Channel",
    "CostEntry",
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
    "LastSeen",
    "LearnedFigures",
    "LogFeed",
    "LogLine",
    "Membership",
    "Message",
    "MessagePreference",
    "MetricCount",
    "MonthFigures",
    "PersistentResource",
    "Policy",
    "PolicyVersion",
    "Price",
    "Profile",
    "Proposal",
    "QuotaReading",
    "ResourceChange",
    "ResourceSize",
    "RetentionSetting",
    "Role",
    "RuleSetting",
    "SavedView",
    "Schedule",
    "ScheduleRun",
    "Scope",
    "SealedEntry",
    "SetAsideItem",
    "ShownJob",
    "SignInRule",
    "SignedInBrowser",
    "SpendSum",
    "Team",
    "Template",
    "Trial",
    "UnmatchedJob",
    "Upkeep",
    "Via",
    "Vote",
    "hide_in",
]
