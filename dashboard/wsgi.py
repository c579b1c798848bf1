"""The WSGI entry point: `granian --interface wsgi dashboard.wsgi:application`."""

import gc
import os

from django.core.wsgi import get_wsgi_application
from django.db import connections
from django.urls import get_resolver

from dashboard import private, tracing

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")

private.umask()
tracing.start()  # before Django loads the middleware that this adds
application = get_wsgi_application()

from dashboard.access import known_password  # noqa: E402 - it needs the apps

known_password.refuse_start()
connections.close_all()  # requests run in other threads

_ = get_resolver().url_patterns  # loads the pages
# What is loaded now stays. Without this, every full garbage collection goes through it, during some request.
gc.collect()
gc.freeze()
