"""The site as a Django app."""

from django.apps import AppConfig
from django.core import checks


class DashboardConfig(AppConfig):
    """Configuration of the site's app."""

    name = "dashboard"

    def ready(self) -> None:
        """Register the check and connect the signal handlers. Models can be imported only now."""
        from dashboard.access import audit_middleware, browsers, confirmation, known_password  # noqa: PLC0415

        audit_middleware.connect()
        browsers.connect()
        confirmation.connect()
        checks.register(known_password.check, checks.Tags.database)
