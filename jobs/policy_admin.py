"""Django's admin of the limits of teams."""

from django.db.models import Model
from django.http import HttpRequest

REPLACED_BY_RULES = ("ask_over_usd", "refuse_over_usd", "cancel_over_approved", "cancel_at_cap", "regions")


class UntilRules:
    """Limits that count only until a lead saves rules on the page "Policy"; then a change here would do nothing."""

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:  # noqa: ARG002
        """Return the columns that rules have replaced; `obj` is a policy, or a team with one."""
        policy = getattr(obj, "policy", obj)
        return REPLACED_BY_RULES if getattr(policy, "current_id", None) is not None else ()
