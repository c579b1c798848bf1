"""Django's admin: who belongs to which team and what a team may spend. Jobs and events are there to look at."""

from typing import TYPE_CHECKING

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from jobs.models import (
    ForeignJob,
    Job,
    JobEvent,
    LogFeed,
    Membership,
    Policy,
    Pool,
    RetentionSetting,
    Scope,
    SetAsideItem,
    Survey,
    Team,
    Template,
    Upkeep,
)

if TYPE_CHECKING:  # Django's admin classes take type arguments in their stubs only
    Tabular = admin.TabularInline[Membership, Team]
    Stacked = admin.StackedInline[Policy, Team]
    Rows = admin.ModelAdmin[Model]
else:
    Tabular, Stacked, Rows = admin.TabularInline, admin.StackedInline, admin.ModelAdmin


class MembershipInline(Tabular):
    """A team's people, edited with the team."""

    model = Membership
    extra = 1


class PolicyInline(Stacked):
    """A team's limits, edited with the team."""

    model = Policy


@admin.register(Team)
class TeamAdmin(Rows):
    """Teams with their people and limits."""

    list_display = ["name", "project", "default_region", "bucket"]
    search_fields = ["name", "project"]
    inlines = [MembershipInline, PolicyInline]


@admin.register(Membership)
class MembershipAdmin(Rows):
    """Who has which role where."""

    list_display = ["user", "team", "role"]
    list_filter = ["team", "role"]
    list_select_related = ["user", "team"]
    search_fields = ["user__username", "team__name"]


@admin.register(Policy)
class PolicyAdmin(Rows):
    """What each team may do without asking."""

    list_display = ["team", "ask_over_usd", "refuse_over_usd", "regions"]
    list_select_related = ["team"]


class ReadOnlyAdmin(Rows):
    """Rows that only `jobs.lifecycle` writes."""

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002 Django gives it
        """Refuse: a job begins with a request."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:  # noqa: ARG002 Django gives it
        """Refuse: state changes through one door."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:  # noqa: ARG002 Django gives it
        """Refuse: history stays."""
        return False


@admin.register(Job)
class JobAdmin(ReadOnlyAdmin):
    """Jobs, to look at."""

    list_display = ["display_name", "team", "owner", "strategy", "state", "requested_at", "ended_at"]
    list_filter = ["team", "strategy", "state"]
    list_select_related = ["team", "owner"]
    search_fields = ["display_name", "remote_name", "id"]
    ordering = ["-requested_at", "pk"]


@admin.register(Survey)
class SurveyAdmin(ReadOnlyAdmin):
    """Who looked for jobs that were made outside Trainboard, and where, to look at."""

    list_display = ["project", "region", "asked_by", "asked_at", "answered_at", "trouble"]
    list_select_related = ["asked_by"]
    search_fields = ["project", "region"]


@admin.register(ForeignJob)
class ForeignJobAdmin(ReadOnlyAdmin):
    """What those surveys found, to look at."""

    list_display = ["display_name", "kind", "state", "survey", "created_at"]
    list_filter = ["kind", "state"]
    list_select_related = ["survey"]
    search_fields = ["display_name", "remote_name"]
    ordering = ["-created_at", "pk"]


@admin.register(JobEvent)
class JobEventAdmin(ReadOnlyAdmin):
    """Events, to look at."""

    list_display = ["job", "kind", "sentence", "actor", "occurred_at", "recorded_at"]
    list_filter = ["kind"]
    list_select_related = ["job", "actor"]
    search_fields = ["job__display_name", "sentence"]
    ordering = ["-recorded_at", "-pk"]


@admin.register(Pool)
class PoolAdmin(ReadOnlyAdmin):
    """Persistent resources as they were last seen, to look at."""

    list_display = ["resource_id", "project", "region", "state", "state_since", "seen_at", "gone_at"]
    list_filter = ["project", "region", "state"]
    search_fields = ["resource_id", "display_name"]
    ordering = ["project", "region", "resource_id"]


@admin.register(Template)
class TemplateAdmin(ReadOnlyAdmin):
    """Templates of teams, to look at; people change them on the site."""

    list_display = ["name", "team", "kind", "created_by", "updated_at"]
    list_filter = ["team", "kind"]
    list_select_related = ["team", "created_by"]
    search_fields = ["name"]
    ordering = ["team", "name"]


@admin.register(SetAsideItem)
class SetAsideItemAdmin(ReadOnlyAdmin):
    """What came from outside and could not be stored or read, to look at and to delete when it was dealt with."""

    list_display = ["item", "place", "reason", "is_kept", "count", "first_at", "last_at"]
    list_filter = ["is_kept", "last_at"]
    search_fields = ["item", "place", "reason"]
    ordering = ["-last_at", "-pk"]

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Allow it to who may: nothing depends on a row."""
        return Rows.has_delete_permission(self, request, obj)


@admin.register(RetentionSetting)
class RetentionSettingAdmin(Rows):
    """How long rows are kept where that differs from the default (docs/running.md lists the defaults)."""

    list_display = ["kind", "days"]
    ordering = ["kind"]


@admin.register(Scope, LogFeed, Upkeep)
class LookAdmin(ReadOnlyAdmin):
    """Where the workers look again and again, and how the last look went."""

    list_display = ["__str__", "due_at", "answered_at", "failures", "failing_since", "trouble"]
    ordering = ["pk"]
