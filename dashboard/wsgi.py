"""The WSGI entry point: `granian --interface wsgi dashboard.wsgi:application`."""

import gc
import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")

application = get_wsgi_application()

# What is loaded now stays until the end, so the collector need not walk through it again and again; and a page makes
# tens of thousands of objects, nearly all of which are gone without it when the page is.
gc.collect()
gc.freeze()
gc.set_threshold(20_000, 20, 20)
