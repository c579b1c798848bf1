"""Whether the rows keep what they promise; `manage.py audit` asks."""

from jobs.lifecycle.audit.walk import PORTION, Broken, audit, items_set_aside

__all__ = ["PORTION", "Broken", "audit", "items_set_aside"]
