"""The WSGI entry point: `granian --interface wsgi dashboard.wsgi:application`."""

import os

from django.core.wsgi import get_wsgi_application

from dashboard import collector

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")

application = get_wsgi_application()
collector.settle()
