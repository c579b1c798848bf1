"""The Django app of the domain."""

from typing import Any

from django.apps import AppConfig
from django.db.backends.signals import connection_created
from django.db.models.signals import post_migrate, pre_migrate

from jobs import database, isolation


class JobsConfig(AppConfig):
    """The app that owns every table of Trainboard."""

    name = "jobs"
    verbose_name = "Training jobs"

    def ready(self) -> None:
        """Lift limits during migrations, leave standbys, and connect what follows changes of settings and accounts."""
        from jobs.people import audit, credentials  # noqa: PLC0415 - models can be imported only now

        audit.register()
        credentials.connect()
        connection_created.connect(_watch_connection)
        pre_migrate.connect(_before_migrations, sender=self)
        post_migrate.connect(_after_migrations, sender=self)


def _watch_connection(*, connection: Any, **_: Any) -> None:
    if isolation.leave_standby not in connection.execute_wrappers:
        connection.execute_wrappers.append(isolation.leave_standby)


def _before_migrations(*, using: str, **_: Any) -> None:
    database.lift_limits(using=using, locks=True)


def _after_migrations(*, using: str, **_: Any) -> None:
    database.restore_limits(using=using)
