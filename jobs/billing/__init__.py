"""Compare the amounts that Google billed, from a Cloud Billing export, with the costs recorded here."""

from jobs.billing.compare import import_billing
from jobs.billing.reader import QUERY, BadExport, read_rows

__all__ = ["QUERY", "BadExport", "import_billing", "read_rows"]
