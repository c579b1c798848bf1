"""Whether the rows keep what they promise; `manage.py audit` asks."""

from jobs.lifecycle.audit.walk import PORTION, Broken, audit

__all__ = ["PORTION", "Broken", "audit"]
