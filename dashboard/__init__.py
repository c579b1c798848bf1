"""The site: all HTTP code. It calls the domain in `jobs`, which never calls it."""

from dashboard.celery import app as celery_app

__all__ = ["celery_app"]
__version__ = "0.1.0"
