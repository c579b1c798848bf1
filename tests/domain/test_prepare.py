"""Tests of what `manage.py up` prepares before it starts: only what is missing."""

import os
from pathlib import Path

import pytest
from django.db.migrations.executor import MigrationExecutor

from dashboard.management.supervisor import prepare

pytestmark = pytest.mark.both_databases


@pytest.fixture
def said() -> list[str]:
    return []


def test_an_up_to_date_database_is_left_alone(db: None, said: list[str]) -> None:
    prepare.database(said.append)

    assert said == []


def test_missing_migrations_are_applied(db: None, said: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []
    monkeypatch.setattr(MigrationExecutor, "migration_plan", lambda self, targets: [("one", False), ("two", False)])
    monkeypatch.setattr(prepare, "call_command", lambda name, **_: called.append(name))

    prepare.database(said.append)

    assert called == ["migrate"]
    assert said == ["preparing the database: 2 migrations"]


class TestStaticFiles:
    @pytest.fixture(autouse=True)
    def _one_source(self, settings: object, tmp_path: Path) -> None:
        self.source = tmp_path / "source"
        self.source.mkdir()
        (self.source / "a.css").write_text("a {}")
        settings.STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder"]  # type: ignore[attr-defined]
        settings.STATICFILES_DIRS = [self.source]  # type: ignore[attr-defined]
        settings.STATIC_ROOT = self.root = tmp_path / "static"  # type: ignore[attr-defined]

    def test_are_collected_once(self, said: list[str]) -> None:
        prepare.static_files(said.append)
        prepare.static_files(said.append)

        assert (self.root / "a.css").read_text() == "a {}"
        assert said == ["collecting static files"]

    def test_are_collected_again_when_one_changed(self, said: list[str]) -> None:
        prepare.static_files(said.append)
        (self.source / "a.css").write_text("b {}")
        os.utime(self.source / "a.css", (1, 1))

        prepare.static_files(said.append)

        assert (self.root / "a.css").read_text() == "b {}"
        assert len(said) == 2

    def test_that_are_gone_do_not_stay(self, said: list[str]) -> None:
        (self.source / "old.css").write_text("")
        prepare.static_files(said.append)
        (self.source / "old.css").unlink()

        prepare.static_files(said.append)

        assert not (self.root / "old.css").exists()
