"""What Google has billed beside what was counted here: reading the Cloud Billing export, and comparing it."""

from jobs.billing.compare import import_billing
from jobs.billing.reader import QUERY, BadExport, read_rows

__all__ = ["QUERY", "BadExport", "import_billing", "read_rows"]
