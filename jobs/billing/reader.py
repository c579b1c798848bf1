"""Read a CSV of the Cloud Billing export's BigQuery table, row by row. Pure.

The table `gcp_billing_export_v1_<account>` has nested columns (docs.cloud.google.com/billing/docs/how-to/
export-data-bigquery-tables/standard-usage, read 2026-11-23). CSV has none, so the query has to write arrays as JSON, as
`QUERY` does. A name may have a dot or an underscore (`invoice.month` or `invoice_month`).
"""

import csv
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any
from zoneinfo import ZoneInfo

from django.utils.translation import gettext as _

from jobs.clients import JOB_LABEL

PACIFIC = ZoneInfo("America/Los_Angeles")
"""The time zone of invoice months."""
QUERY = """SELECT usage_start_time, cost, currency, cost_type, invoice.month AS invoice_month, project.id AS project_id,
  service.description AS service_description, TO_JSON_STRING(labels) AS labels, TO_JSON_STRING(credits) AS credits
FROM `PROJECT.DATASET.gcp_billing_export_v1_ACCOUNT` WHERE invoice.month = "202611\""""
REQUIRED = ("usage_start_time", "cost", "currency", "labels")
MAX_AMOUNT = Decimal(10) ** 12
MAX_FIELD = 1_000_000
TAX = "tax"


class BadExport(ValueError):
    """The file is not a valid export; the message gives the line and the reason."""


@dataclass(frozen=True, slots=True)
class BilledRow:
    """One row: amounts in `currency`, the month by US Pacific time, and the job in its label, else ""."""

    month: date
    currency: str
    cost: Decimal
    credits: Decimal
    is_tax: bool
    job: str
    project: str
    service: str


def read_rows(lines: Iterable[str]) -> Iterator[BilledRow]:
    """Yield the rows of a file as they are read. Raise BadExport at the first invalid line."""
    csv.field_size_limit(MAX_FIELD)
    reader = csv.reader(lines, strict=True)
    try:
        head = [name.strip().lower().replace(".", "_") for name in next(reader, [])]
        missing = [name for name in REQUIRED if name not in head]
        if missing:
            raise BadExport(
                _("Line 1 lacks the column %(missing)s. Export the table with the query below.")
                % {"missing": ", ".join(missing)}
            )
        for cells in reader:
            if not cells:
                continue
            if len(cells) != len(head):
                raise BadExport(
                    _("Line %(line)s has %(cells)s cells, but line 1 has %(heads)s.")
                    % {"line": reader.line_num, "cells": len(cells), "heads": len(head)}
                )
            yield _row(dict(zip(head, cells, strict=True)), reader.line_num)
    except csv.Error as error:
        raise BadExport(
            _("Line %(line)s is not valid CSV: %(error)s.") % {"line": reader.line_num, "error": error}
        ) from None
    except UnicodeDecodeError:
        raise BadExport(_("After line %(line)s the file is not valid UTF-8.") % {"line": reader.line_num}) from None


def _row(cells: dict[str, str], line: int) -> BilledRow:
    currency = cells["currency"].strip().upper()
    if len(currency) != 3 or not currency.isascii() or not currency.isalpha():
        raise BadExport(
            _("Line %(line)s: “%(currency)s” is not a currency such as USD.")
            % {"line": line, "currency": cells["currency"][:20]}
        )
    return BilledRow(
        month=_month(cells, line),
        currency=currency,
        cost=_amount(cells["cost"], "cost", line),
        credits=_credits(cells.get("credits", ""), line),
        is_tax=cells.get("cost_type", "").strip().lower() == TAX,
        job=_job(cells["labels"], line),
        project=cells.get("project_id", "").strip(),
        service=cells.get("service_description", "").strip()[:120],
    )


def _month(cells: dict[str, str], line: int) -> date:
    if named := cells.get("invoice_month", "").strip():
        try:
            return datetime.strptime(named, "%Y%m").replace(tzinfo=UTC).date()
        except ValueError:
            raise BadExport(
                _("Line %(line)s: “%(named)s” is not a month such as 202611.") % {"line": line, "named": named[:20]}
            ) from None
    text = cells["usage_start_time"].strip().replace(" UTC", "+00:00").replace("Z", "+00:00")
    try:
        moment = datetime.fromisoformat(text)
        moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        return moment.astimezone(PACIFIC).date().replace(day=1)
    except (ValueError, OverflowError):
        raise BadExport(
            _("Line %(line)s: “%(text)s” is not a time such as 2026-11-03 08:00:00 UTC.")
            % {"line": line, "text": text[:40]}
        ) from None


def _amount(text: Any, name: str, line: int) -> Decimal:
    try:
        amount = Decimal(str(text).strip())
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or abs(amount) >= MAX_AMOUNT:
        raise BadExport(
            _("Line %(line)s: “%(text)s” in the column %(name)s is not an amount.")
            % {"line": line, "text": str(text)[:40], "name": name}
        )
    return amount


def _credits(text: str, line: int) -> Decimal:
    """Return the sum of the credits, which are negative; a single number is their sum already."""
    found = _json(text, "credits", line) if text.strip() else []
    if isinstance(found, list) and all(isinstance(each, dict) for each in found):
        return sum((_amount(each.get("amount", 0), "credits", line) for each in found), Decimal(0))
    return _amount(found, "credits", line)


def _job(text: str, line: int) -> str:
    """Return the value of Trainboard's job label; "" if there is none."""
    found = _json(text, "labels", line) if text.strip() else []
    if isinstance(found, dict):
        return str(found.get(JOB_LABEL, ""))[:63]
    if not isinstance(found, list):
        raise BadExport(_("Line %(line)s: the column labels is not a list of keys and values.") % {"line": line})
    values = [each.get("value") for each in found if isinstance(each, dict) and each.get("key") == JOB_LABEL]
    return str(values[0])[:63] if values else ""


def _json(text: str, name: str, line: int) -> Any:
    try:
        return json.loads(text, parse_float=Decimal, parse_int=Decimal)
    except (ValueError, RecursionError):
        raise BadExport(
            _("Line %(line)s: the column %(name)s is not valid JSON; write it with TO_JSON_STRING.")
            % {"line": line, "name": name}
        ) from None
