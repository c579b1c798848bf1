"""Django's admin, in which an old session needs the password again before it changes anything."""

from typing import Any

from django.contrib.admin import AdminSite

from dashboard.access.confirmation import confirmed


class ConfirmedSite(AdminSite):
    """The default site of Django's admin."""

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        """Return a view of the admin that asks for the password before a POST, except to sign out."""
        return super().admin_view(view if view == self.logout else confirmed()(view), cacheable)
