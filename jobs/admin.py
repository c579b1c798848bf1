"""Django's admin: edit teams, members and limits; read jobs, events and other rows that only the site writes."""

import json
from typing import TYPE_CHECKING

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from jobs.large_tables import LargeTableAdmin, Rows
from jobs.models import (
    Discovery,
    ExternalJob,
    Installation,
    Job,
    JobEvent,
    LogFeed,
    Membership,
    PersistentResource,
    Policy,
    Price,
    RetentionSetting,
    Scope,
    SetAsideItem,
    ShownJob,
    Team,
    Template,
    UnmatchedJob,
    Upkeep,
)
from jobs.spec.secrets import mask_secrets

if TYPE_CHECKING:  # Django's admin classes take type arguments in their stubs only
    Tabular = admin.TabularInline[Membership, Team]
    Stacked = admin.StackedInline[Policy, Team]
else:
    Tabular, Stacked = admin.TabularInline, admin.StackedInline


REPLACED_BY_RULES = ("ask_over_usd", "refuse_over_usd", "cancel_over_approved", "cancel_at_cap", "regions")


class UntilRules:
    """Limits that become read-only, as they no longer apply, once a lead saves rules on the page "Policy"."""

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:  # noqa: ARG002
        """Return the fields that rules have replaced; `obj` is a policy, or a team that has one."""
        policy = getattr(obj, "policy", obj)
        return REPLACED_BY_RULES if getattr(policy, "current_id", None) is not None else ()


class MembershipInline(Tabular):
    """The members of a team, edited on the team's page."""

    model = Membership
    extra = 1


class PolicyInline(UntilRules, Stacked):
    """The limits of a team, edited on the team's page."""

    model = Policy


@admin.register(Team)
class TeamAdmin(Rows):
    """Teams with their members and limits."""

    list_display = ["name", "project", "default_region", "bucket"]
    search_fields = ["name", "project"]
    inlines = [MembershipInline, PolicyInline]


@admin.register(Membership)
class MembershipAdmin(Rows):
    """The roles of people in teams."""

    list_display = ["user", "team", "role"]
    list_filter = ["team", "role"]
    list_select_related = ["user", "team"]
    search_fields = ["user__username", "team__name"]


@admin.register(Policy)
class PolicyAdmin(UntilRules, Rows):
    """What each team may do without approval."""

    list_display = ["team", "ask_over_usd", "refuse_over_usd", "cancel_over_approved", "cancel_at_cap", "current"]
    list_select_related = ["team", "current__team"]


class ReadOnlyAdmin(Rows):
    """Rows that only requests, submission and observation write. The admin shows them and changes nothing."""

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:  # noqa: ARG002 Django gives it
        """Return False: jobs begin with a request, and only `jobs.transitions` changes a state."""
        return False

    has_add_permission = has_delete_permission = has_change_permission

    @admin.display(description="body")
    def shown_body(self, row: ExternalJob | PersistentResource | Template) -> str:
        """Return the REST body without its secrets."""
        body = row.spec if isinstance(row, Template) else row.body
        return json.dumps(mask_secrets(body), indent=2, ensure_ascii=False)


@admin.register(Job)
class JobAdmin(LargeTableAdmin, ReadOnlyAdmin):
    """Jobs, read only."""

    list_display = ["display_name", "team", "owner", "strategy", "state", "requested_at", "ended_at"]
    list_filter = ["team"]
    list_select_related = ["team", "owner"]
    sortable_by = ()
    ordering = ["-requested_at", "pk"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Model]:  # noqa: ARG002 Django gives it
        """Return the jobs without their secrets."""
        return ShownJob.objects.order_by(*self.ordering)


@admin.register(Discovery)
class DiscoveryAdmin(ReadOnlyAdmin):
    """Searches for jobs made outside Trainboard: project, region and who asked; read only."""

    list_display = ["project", "region", "asked_by", "asked_at", "answered_at", "last_error"]
    list_select_related = ["asked_by"]
    search_fields = ["project", "region"]


@admin.register(ExternalJob)
class ExternalJobAdmin(ReadOnlyAdmin):
    """Jobs that discoveries found; read only."""

    list_display = ["display_name", "kind", "state", "discovery", "created_at"]
    exclude = ["body"]
    readonly_fields = ["shown_body"]
    list_filter = ["kind", "state"]
    list_select_related = ["discovery"]
    search_fields = ["display_name", "remote_name"]
    ordering = ["-created_at", "pk"]


@admin.register(UnmatchedJob)
class UnmatchedJobAdmin(ReadOnlyAdmin):
    """Jobs at Vertex AI that carry our label but belong to no row of Trainboard; read only."""

    list_display = ["remote_name", "job", "state", "first_seen_at", "ended_at", "cancel_sent_at", "last_error"]
    list_filter = ["project", "region", "kind"]
    list_select_related = ["job"]
    search_fields = ["remote_name", "display_name"]
    ordering = ["-first_seen_at", "pk"]


@admin.register(Installation)
class InstallationAdmin(ReadOnlyAdmin):
    """The instance that may send the jobs of this database; read only."""

    list_display = ["instance", "trusted_since", "restored_reason", "swept_at"]


@admin.register(JobEvent)
class JobEventAdmin(LargeTableAdmin, ReadOnlyAdmin):
    """Events, read only."""

    list_display = ["job", "kind", "shown_message", "actor", "occurred_at", "recorded_at"]
    exclude = ["message", "detail"]
    readonly_fields = ["shown_message", "shown_detail"]
    list_select_related = ["job", "actor"]
    sortable_by = ()
    job_column = "job__"
    ordering = ["-pk"]

    @admin.display(description="message")
    def shown_message(self, row: JobEvent) -> str:
        """Return what happened, without the job's secrets."""
        return str(ShownJob.of(row.job).hide(row.message))

    @admin.display(description="detail")
    def shown_detail(self, row: JobEvent) -> str:
        """Return the details, without the job's secrets."""
        return json.dumps(ShownJob.of(row.job).hide(row.detail), indent=2, ensure_ascii=False)


@admin.register(PersistentResource)
class PersistentResourceAdmin(ReadOnlyAdmin):
    """Persistent resources as last seen; read only."""

    list_display = ["resource_id", "project", "region", "state", "state_since", "seen_at", "gone_at"]
    exclude = ["body"]
    readonly_fields = ["shown_body"]
    list_filter = ["project", "region", "state"]
    search_fields = ["resource_id", "display_name"]
    ordering = ["project", "region", "resource_id"]


@admin.register(Template)
class TemplateAdmin(ReadOnlyAdmin):
    """Templates of teams, read only; people edit them on the site."""

    list_display = ["name", "team", "kind", "created_by", "updated_at"]
    exclude = ["spec"]
    readonly_fields = ["shown_body"]
    list_filter = ["team", "kind"]
    list_select_related = ["team", "created_by"]
    search_fields = ["name"]
    ordering = ["team", "name"]


@admin.register(SetAsideItem)
class SetAsideItemAdmin(ReadOnlyAdmin):
    """Data from outside that could not be stored or read. An admin reads it here and deletes it once dealt with."""

    list_display = ["item", "place", "reason", "is_kept", "count", "first_at", "last_at"]
    list_filter = ["is_kept", "last_at"]
    search_fields = ["item", "place", "reason"]
    ordering = ["-last_at", "-pk"]

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Return whether the person has the permission to delete; no other row depends on this one."""
        return Rows.has_delete_permission(self, request, obj)


@admin.register(RetentionSetting)
class RetentionSettingAdmin(Rows):
    """Retention periods that differ from the defaults, which docs/running.md lists."""

    list_display = ["kind", "days"]
    ordering = ["kind"]


@admin.register(Price)
class PriceAdmin(ReadOnlyAdmin):
    """Recorded prices, read only; the page "Prices" records new ones."""

    list_display = ["__str__", "basis", "as_of", "is_official", "origin", "reason", "recorded_by", "recorded_at"]
    list_filter = ["origin", "basis", "strategy"]
    list_select_related = ["recorded_by"]
    search_fields = ["resource", "region"]
    ordering = ["-pk"]


@admin.register(Scope, LogFeed, Upkeep)
class PollTargetAdmin(ReadOnlyAdmin):
    """Poll targets of the workers, with the result of their last poll."""

    list_display = ["__str__", "due_at", "answered_at", "failures", "failing_since", "last_error"]
    ordering = ["pk"]
