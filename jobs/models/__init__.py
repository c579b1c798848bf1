"""The models: columns, constraints and querysets. States and events are written by `jobs.transitions` only."""

from jobs.models.account import ApiToken, Identity, Invitation, Profile, SignedInBrowser, SignInRule
from jobs.models.advice import AdviceReading
from jobs.models.approval import Approval, AskedGroup, Deputy, Proposal, Vote
from jobs.models.billing import BilledAmount, BillingImport
from jobs.models.budget import Budget, BudgetChange, BudgetNotice, Ceiling
from jobs.models.event import JobEvent
from jobs.models.external_job import Discovery, ExternalJob
from jobs.models.fallback import Fallback, FallbackAttempt
from jobs.models.figures import JobFigures, LearnedFigures, MonthFigures, RunSummary
from jobs.models.installation import Heartbeat, Installation, MetricCount
from jobs.models.job import Job
from jobs.models.ledger import CostEntry, Dimension, SpendSum
from jobs.models.message import Channel, Delivery, Digest, Message, MessagePreference, Via
from jobs.models.observed import (
    ImageReading,
    JobHealth,
    JobMetrics,
    LastSeen,
    LogLine,
    QuotaReading,
    Trial,
    UnmatchedJob,
)
from jobs.models.persistent_resource import PersistentResource, ResourceChange, ResourceSize
from jobs.models.polling import LogFeed, Scope
from jobs.models.price import CatalogueEntry, Price
from jobs.models.retention import RetentionSetting, SetAsideItem, Upkeep
from jobs.models.schedule import Schedule, ScheduleRun
from jobs.models.seal import AuditedTeam, AuditSeal, SealedEntry
from jobs.models.shown import ShownJob, hide_in
from jobs.models.team import AllowedResource, Membership, Policy, PolicyVersion, Role, RuleSetting, Team
from jobs.models.template import Draft, SavedView, Template

__all__ = [
    "AdviceReading",
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
    "JobHealth",
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
    "RunSummary",
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
