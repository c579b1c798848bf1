"""The Celery app. Its only schedule is a sweep that finds due rows in the database."""

import os
from typing import Any

from celery import Celery
from celery.signals import beat_init, celeryd_init, worker_init
from django.conf import settings

from dashboard import heartbeat, logs, private, tracing
from dashboard.watchdog import Watchdog

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")

app = Celery("trainboard")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["jobs"])
logs.follow_requests()


@beat_init.connect
@celeryd_init.connect
def _keep_files_private(**_: Any) -> None:
    private.umask()


@beat_init.connect
def _watch_beat(**_: Any) -> None:
    heartbeat.watch_beat()


@worker_init.connect
def _watch(**_: Any) -> None:
    tracing.start()
    Watchdog(settings.TASK_SECONDS).connect()
    heartbeat.watch_worker()
