"""The rows of the form, worker pools and parameters: formsets, and the buttons that add or remove a row."""

import re
from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from dashboard.forms.compose.tuning_form import ParameterForm
from dashboard.forms.compose.worker_pool_form import WorkerPoolForm

REGION = re.compile(r"region_([a-z0-9-]{1,40})", re.ASCII)
BUTTON = re.compile(r"add_(pool|parameter)|remove_(pool|parameter)-(\d{1,3})", re.ASCII)
NOT_COPIED = ("carried", "drop_carried", "skip", "fits")


class Rows(forms.BaseFormSet):  # type: ignore[type-arg]
    """Rows of one kind, at least one. An invalid spec may have more rows than can be added."""

    default_error_messages = {
        "missing_management_form": _("The form was sent incomplete. Reload the page and try again."),
        "too_many_forms": _("There are more rows than this form takes."),
    }

    def total_form_count(self) -> int:
        """Return the number of rows, 1 if the count is missing."""
        return max(1, super().total_form_count())


class BaseParameters(Rows):
    """The parameters of a study."""

    def clean(self) -> None:
        """Add an error to each parameter that names a parent not above it, or values without a parent."""
        above: set[str] = set()
        for form in self.forms:
            values = form.cleaned_data
            if values.get("parent") and values["parent"] not in above:
                form.add_error(
                    "parent", _("No parameter above is called “%(name)s”.") % {"name": values["parent"][:40]}
                )
            elif values.get("parent_values") and not values.get("parent"):
                form.add_error("parent", _("Name the parameter that these are values of."))
            above.add(values.get("parameter_id", ""))


MAX_WORKER_POOLS, MAX_PARAMETERS = 8, 40
"""Maximum rows that the form shows. Further ones of a spec are carried."""
WorkerPools = forms.formset_factory(WorkerPoolForm, formset=Rows, max_num=4, absolute_max=MAX_WORKER_POOLS)
Parameters = forms.formset_factory(
    ParameterForm, formset=BaseParameters, max_num=MAX_PARAMETERS, absolute_max=MAX_PARAMETERS
)
FORMSETS = {"pool": WorkerPools, "parameter": Parameters}


def change_rows(data: Mapping[str, Any], button: str) -> tuple[dict[str, Any], str]:
    """Return the posted data after the change of a button, and the prefix of the row to focus ("" for none).

    Buttons are `add_pool`, `add_parameter`, `remove_pool-1`, `remove_parameter-0` and `region_us-east4`, which chooses
    that region. Any other button changes nothing.
    A new worker pool is a copy of the last one, because most differ only in machines. The primary pool cannot be
    removed.
    """
    posted = dict(data.items())
    if (chosen := REGION.fullmatch(button)) is not None:
        return posted | {"region": chosen[1]}, ""
    match = BUTTON.fullmatch(button)
    if match is None:
        return posted, ""
    kind = match[1] or match[2]
    formset = FORMSETS[kind](data, prefix=kind)
    rows = [_row(posted, f"{kind}-{at}-") for at in range(formset.total_form_count())]
    prefix = ""
    if match[1] and len(rows) < formset.max_num:
        prefix = f"{kind}-{len(rows)}"
        last = rows[-1] if kind == "pool" else {}
        rows.append({name: value for name, value in last.items() if name not in NOT_COPIED})
        rows[-1] |= {"replicas": "1"} if kind == "pool" else {"kind": "double"}
    elif match[3] and len(rows) > int(match[3]) >= (kind == "pool") and len(rows) > 1:
        del rows[int(match[3])]
    rest = {name: value for name, value in posted.items() if not re.match(rf"{kind}-\d", name)}
    return rest | row_data(kind, rows), prefix


def row_data(kind: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the data of a formset with these rows."""
    data = {f"{kind}-{at}-{name}": value for at, row in enumerate(rows) for name, value in row.items()}
    return data | {f"{kind}-TOTAL_FORMS": str(len(rows)), f"{kind}-INITIAL_FORMS": "0"}


def _row(data: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    return {name.removeprefix(prefix): value for name, value in data.items() if name.startswith(prefix)}
