"""Convert between a form and its part of the REST body, by the paths that the form's fields declare."""

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from django import forms

from dashboard.forms.compose import paths
from dashboard.forms.fields.located import EMPTY, Located, OneOfField


class Location(NamedTuple):
    """A path that a field writes. If `selector` is a field, it is written only if that field's value is `choice`."""

    name: str
    path: str
    selector: str = ""
    choice: str = ""


@cache
def locations(form: type[forms.Form]) -> tuple[Location, ...]:
    """Return the locations of all fields of a form class."""
    fields = _located(form)
    objects = [
        (name, choice, path)
        for name, field in fields.items()
        if isinstance(field, OneOfField)
        for choice, path in field.objects.items()
    ]

    def locate(name: str, path: str) -> Location:
        chosen = (at for at in objects if path == at[2] or path.startswith(f"{at[2]}."))
        selector, choice, _ = next(chosen, ("", "", ""))
        return Location(name, path, selector, choice)

    return tuple(locate(name, path) for name, field in fields.items() for path in field.paths)


@cache
def covered_paths(form: type[forms.Form]) -> Mapping[str, str]:
    """Return {path: field at which findings about it are shown}."""
    written = {location.path: location.name for location in locations(form)}
    return written | {path: name for name, field in _located(form).items() for path in field.covers}


def write_fields(form: forms.Form, body: dict[str, Any]) -> None:
    """Write the cleaned values of a form into `body`. Empty and unreadable fields are omitted."""
    values, fields = form.cleaned_data, _located(type(form))
    for name, path, selector, choice in locations(type(form)):
        if selector and values.get(selector) != choice:
            continue
        json: Any
        if name == selector:
            json = {} if paths.get(body, path) is paths.MISSING else None
        else:
            value = values.get(name)
            json = None if value in EMPTY else fields[name].to_json(value)
        if json is not None:
            paths.put(body, path, json)


def load_fields(form: type[forms.Form], body: dict[str, Any]) -> dict[str, Any]:
    """Return {field: value} for a part of `body`, and remove these values from it. Other fields are None."""
    fields = _located(form)
    chosen: dict[str, tuple[str, str]] = {}
    for name, field in fields.items():
        for choice, path in field.objects.items() if isinstance(field, OneOfField) else ():
            if paths.get(body, path) is not paths.MISSING:
                chosen.setdefault(name, (choice, path))
    values: dict[str, Any] = {name: choice for name, (choice, _) in chosen.items()}
    for name, path, selector, choice in locations(form):
        if name == selector:
            continue
        values.setdefault(name, None)
        json = paths.get(body, path)
        if json is paths.MISSING or (selector and values.get(selector) != choice):
            continue
        if (value := fields[name].load(json)) is not None:
            values[name] = value
            paths.take(body, path)
    for _, path in chosen.values():
        if paths.get(body, path) == {}:
            paths.take(body, path)
    return values


def initial_data(form: type[forms.Form], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return data that bind a form which nobody has edited yet: `values`, or else the initial values of the fields."""
    data = {}
    for name, field in form.base_fields.items():
        value = values.get(name, field.initial)
        value = value() if callable(value) else value
        if value is not None and value is not False:
            data[name] = field.prepare_value(value)
    return data


def _located(form: type[forms.Form]) -> dict[str, Located]:
    return {name: field for name, field in form.base_fields.items() if isinstance(field, Located)}
