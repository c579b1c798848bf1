"""Tests of the list of guards: it is complete, every mutant is a valid module, and everybody has a judge."""

import ast
from fnmatch import fnmatch
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from tests.mutants import switches
from tests.mutants.__main__ import ROOT
from tests.mutants.guards import Guard, find
from tests.mutants.judges import LEFT_OUT, QUICK, judges_of, name
from tests.mutants.switched import switch

MODULE = """
def take(rows, job, now):
    if job.claim and (job.until > now or job.is_held):
        return None
    return rows.select_for_update().filter(pk=job.pk, state="new").first()
"""


def guards_of(text: str, folder: Path) -> list[Guard]:
    (folder / "jobs").mkdir()
    (folder / "jobs" / "steps.py").write_text(text)
    return find(folder)


def test_conditions_locks_and_terms_are_guards(tmp_path: Path) -> None:
    found = guards_of(MODULE, tmp_path)

    assert [(guard.kind, guard.code, guard.without) for guard in found] == [
        ("condition", "job.claim", "True"),
        ("condition", "job.until > now or job.is_held", "True"),
        ("condition", "job.claim and (job.until > now or job.is_held)", "False"),
        ("filter term", "pk=job.pk", 'rows.select_for_update().filter(state="new")'),
        ("filter term", 'state="new"', "rows.select_for_update().filter(pk=job.pk)"),
        ("lock", "rows.select_for_update()", "rows.all()"),
    ]
    assert "rows.all().filter(pk=job.pk" in found[-1].apply(MODULE)


def test_a_switched_module_is_the_module_without_the_guard_that_is_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = dict(enumerate(guards_of(MODULE, tmp_path)))
    switch(tmp_path, found)
    names: dict[str, Any] = {}
    exec((tmp_path / "jobs" / "steps.py").read_text(), names)
    rows = MagicMock()
    held = SimpleNamespace(claim="c", until=2, is_held=False, pk=1)

    assert names["take"](rows, held, 1) is None
    assert switches.reached == {number for number, guard in found.items() if guard.without == "False"}
    monkeypatch.setattr(switches, "active", next(iter(switches.reached)))
    assert names["take"](rows, held, 1) is not None
    monkeypatch.setattr(switches, "active", next(n for n, guard in found.items() if guard.kind == "lock"))
    names["take"](rows, SimpleNamespace(claim="", pk=1), 1)
    assert rows.all.called


def test_every_module_without_a_guard_is_valid() -> None:
    for guard in find(ROOT):
        if guard.kind != "unique constraint":
            ast.parse(guard.apply((ROOT / guard.path).read_text()))


def test_every_guard_has_judges() -> None:
    assert all(judges_of(guard) for guard in find(ROOT))


def test_what_is_left_out_exists() -> None:
    names = [name(guard) for guard in find(ROOT)]

    assert [pattern for pattern in LEFT_OUT if not any(fnmatch(each, pattern) for each in names)] == []


def test_the_sample_exists() -> None:
    assert set(QUICK) <= {name(guard) for guard in find(ROOT)}
