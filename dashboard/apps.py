"""The site as a Django app: it registers its check."""

from django.apps import AppConfig
from django.core import checks


class DashboardConfig(AppConfig):
    """The site."""

    name = "dashboard"

    def ready(self) -> None:
        """Register what Django is to check, and record sign-ins; models can be imported only now."""
        from dashboard.access import audit_middleware, browsers, known_password, openid  # noqa: PLC0415

        audit_middleware.connect()
        browsers.connect()
        openid.connect()
        checks.register(known_password.check, checks.Tags.database)
