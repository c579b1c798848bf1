"""The fields of a sweep: the same job several times, each with additional arguments."""

import re
import shlex
from itertools import product
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from dashboard.forms.fields.located import LineField, TextField
from dashboard.forms.fields.words import LinesField
from dashboard.forms.findings import FindingsForm
from jobs.spec.sweep import MAX_SWEEP

SPAN = re.compile(r"([0-9]{1,9})(?:\s*-\s*([0-9]{1,9}))?", re.ASCII)


class SeedsField(TextField):
    """Integers and ranges, such as "1-5, 8". The value is a list."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, max_length=1000, **options)

    def clean(self, value: Any) -> list[int]:
        """Return the numbers. Raise ValidationError for other text and for more than MAX_SWEEP numbers."""
        seeds: list[int] = []
        for part in filter(None, (each.strip() for each in super().clean(value).split(","))):
            found = SPAN.fullmatch(part)
            first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
            if last < first:
                raise ValidationError(
                    _("“%(text)s” is neither a number nor a range such as 1-5.") % {"text": part[:40]}
                )
            seeds += range(first, min(last, first + MAX_SWEEP) + 1)
        if len(seeds) > MAX_SWEEP:
            raise ValidationError(_("A sweep has at most %(most)s jobs.") % {"most": MAX_SWEEP})
        return list(dict.fromkeys(seeds))


class SweepForm(FindingsForm):
    """The jobs of a sweep: one per seed, per list of arguments, or per pair of both."""

    seeds = SeedsField(_("Seeds"), _("1-5, 8: one job each."))
    seed_argument = LineField(_("Argument of the seed"), _("The number follows it."), initial="--seed", max_length=100)
    argument_lists = LinesField(
        _("Argument lists"),
        _("One list on each line, added to the arguments of every worker pool; quotes as in a shell."),
    )

    def clean_seed_argument(self) -> list[str]:
        """Split the argument as a shell does."""
        return _split(self.cleaned_data["seed_argument"])

    def clean_argument_lists(self) -> list[list[str]]:
        """Split each line into arguments as a shell does."""
        return [_split(line) for line in self.cleaned_data["argument_lists"]]

    def clean(self) -> None:
        """Raise ValidationError for more jobs than a sweep may have."""
        if len(self.arguments) > MAX_SWEEP:
            self.add_error(
                "argument_lists",
                _("That makes %(count)s jobs; a sweep has at most %(most)s.")
                % {"count": len(self.arguments), "most": MAX_SWEEP},
            )

    @property
    def arguments(self) -> list[list[str]]:
        """The additional arguments of each job, [] if this is not a sweep."""
        values = self.cleaned_data
        flag, lists = values.get("seed_argument", []), values.get("argument_lists", [])
        seeds = [[*flag, str(seed)] for seed in values.get("seeds", [])]
        if not seeds and not lists:
            return []
        return [first + second for first, second in product(seeds or [[]], lists or [[]])]

    @property
    def is_used(self) -> bool:
        """Whether any field is filled in."""
        return bool(self["seeds"].value() or self["argument_lists"].value())


def _split(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        raise ValidationError(_("A shell could not read this: %(why)s.") % {"why": str(error).lower()}) from None
