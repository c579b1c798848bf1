"""Fit values from outside to their columns, for every model and database.

Each kind of field has one rule. A kind without a rule raises TypeError, so that no new column is forgotten: a test fits
a row of every model that holds values from outside.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Context, Decimal, InvalidOperation
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from django.db import models

from jobs import bounds

if TYPE_CHECKING:  # Django's fields take type arguments in their stubs only
    Field = models.Field[Any, Any]
else:
    Field = models.Field

WHOLE_NUMBERS: tuple[tuple[type[Field], int, int], ...] = (
    (models.PositiveSmallIntegerField, 0, 2**15 - 1),
    (models.PositiveBigIntegerField, 0, 2**63 - 1),
    (models.PositiveIntegerField, 0, 2**31 - 1),
    (models.SmallIntegerField, -(2**15), 2**15 - 1),
    (models.BigIntegerField, -(2**63), 2**63 - 1),
    (models.IntegerField, -(2**31), 2**31 - 1),
)
"""The ranges of PostgreSQL's columns. The first matching class applies, so narrower classes come first."""
OURS = (models.BooleanField, models.UUIDField, models.ForeignKey, models.AutoField)
"""Kinds of field that hold no value from outside."""


def fit(row: models.Model) -> list[str]:
    """Fit every value of an unsaved row to its column; return descriptions of what was changed."""
    cuts = []
    for field in row._meta.concrete_fields:
        value = getattr(row, field.attname)
        fitted = fitted_value(field, value)
        if fitted is not value and fitted != value:
            setattr(row, field.attname, fitted)
            cuts.append(f"{field.name} ({len(value):,} characters)" if isinstance(value, str) else field.name)
    return cuts


def fit_columns(model: type[models.Model], columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of an UPDATE with fitted values; database expressions are kept."""
    return {name: fitted_value(_field(model, name), value) for name, value in columns.items()}


def update_row(row: models.Model, columns: Mapping[str, Any]) -> bool:
    """Update some columns of a row and of its instance; return False and set nothing if the row is gone."""
    if not type(row)._base_manager.filter(pk=row.pk).update(**columns):
        return False
    for name, value in columns.items():
        setattr(row, name, value)
    return True


def fitted_value(field: Field, value: Any) -> Any:
    """Return the value as its column can hold it: text is cut, a number or time out of range is replaced.

    A nullable column becomes empty, since a wrong number or time is worse than none. Any other column gets the nearest
    time or integer; a decimal or float becomes zero.
    """
    if value is None or isinstance(field, OURS) or hasattr(value, "resolve_expression"):
        return value
    if isinstance(field, models.JSONField):
        return bounds.bounded_json(value)
    if isinstance(field, models.DateTimeField):
        return _moment(field, value)
    if isinstance(field, models.DateField):
        return value  # both databases store every date of Python
    if isinstance(field, models.CharField | models.TextField):
        return _text(field, value)
    return _number(field, value)


def _text(field: Field, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    cut = bounds.bounded_key if _is_key(field) else bounds.bounded
    fitted = cut(value, field.max_length or bounds.MAX_TEXT_CHARACTERS)
    return value if fitted == value else fitted


def _moment(field: Field, value: Any) -> Any:
    if not isinstance(value, datetime):
        return value
    if value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    if bounds.is_moment(value):
        return value
    nearest = bounds.MIN_MOMENT if value < bounds.MIN_MOMENT else bounds.MAX_MOMENT
    return None if field.null else nearest


def _number(field: Field, value: Any) -> Any:
    if isinstance(field, models.DecimalField):
        return value if _has_room(field, Decimal(value)) else (None if field.null else Decimal(0))
    if isinstance(field, models.FloatField):
        is_in_range = -1.7e308 < value < 1.7e308  # false for NaN too
        return value if is_in_range else (None if field.null else 0.0)
    for kind, least, most in WHOLE_NUMBERS:
        if isinstance(field, kind):
            is_in_range = least <= value <= most
            return value if is_in_range else (None if field.null else min(max(value, least), most))
    raise TypeError(f"no rule makes values fit {field}: add one to jobs.storable")


def _has_room(field: "models.DecimalField[Any, Any]", number: Decimal) -> bool:
    """Return whether a decimal column can hold the number, rounded as Django does; SQLite keeps 15 of its digits."""
    places = Decimal(1).scaleb(-field.decimal_places)
    try:
        for kept in (number, Context(prec=15).plus(number)):
            if not kept.quantize(places, context=Context(prec=field.max_digits)).is_finite():
                return False
    except InvalidOperation:
        return False
    return True


@lru_cache(maxsize=256)
def _is_key(field: Field) -> bool:
    """Return whether the field identifies rows, so that two different values must not be cut to the same."""
    unique = (constraint.fields for constraint in field.model._meta.constraints if hasattr(constraint, "fields"))
    return field.unique or any(field.name in fields for fields in unique)


@lru_cache(maxsize=256)
def _field(model: type[models.Model], name: str) -> Field:
    found = next((field for field in model._meta.concrete_fields if name in (field.name, field.attname)), None)
    if found is None:
        raise LookupError(f"{model.__name__} has no column {name}")
    return found
