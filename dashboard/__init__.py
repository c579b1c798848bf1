"""The site: everything HTTP. It calls the domain in `jobs` and is never called by it."""

from dashboard.celery import app as celery_app

__all__ = ["celery_app"]
