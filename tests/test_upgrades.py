"""Tests that workers of the previous version can run after every migration, and that none blocks anybody for long."""

from typing import Any

import pytest
from django.db import migrations, models
from django.db.migrations.loader import MigrationLoader

from jobs.database import AddIndexConcurrently, RemoveIndexConcurrently
from tests.support import migrated, migration_rules

PROMISED_AFTER = "0005"
"""The ones up to this were written before anybody promised it."""
REVIEWED = {
    "0016_severities": "renames severities of rule settings; the version before passes over names that it lacks",
    "0043_one_cap": "writes the caps of jobs that have not ended; the version before keeps an approver's by itself",
    "0063_fill_waits_after_restarts": "fills two new columns that the version before does not write",
    "0085_opening_entries": "fills new tables and columns that the version before does not write",
    "0087_one_figure": "raises the maximum of jobs that have not ended; the version before goes on with it",
}
"""Migration to the reason why an operation that a program cannot judge does no harm."""


def test_every_migration_may_run_under_workers_of_the_version_before() -> None:
    disk = migrated.history()
    names = sorted(name for app, name in disk.disk_migrations if app == "jobs" and name[:4] > PROMISED_AFTER)

    assert names
    for name in names:
        state = disk.project_state(("jobs", name), at_end=False)
        found = list(migration_rules.faults(disk.disk_migrations["jobs", name], state))
        assert name in REVIEWED or found == [], name


TEXT = models.CharField(max_length=10)
BAD: list[tuple[Any, str]] = [
    (migrations.RemoveField("job", "last_error"), "still use it"),
    (migrations.RenameField("job", "last_error", "error_text"), "still use it"),
    (migrations.DeleteModel("PersistentResource"), "still use it"),
    (migrations.RenameModel("PersistentResource", "Machines"), "still use it"),
    (migrations.AddField("persistentresource", "x", models.IntegerField(default=0)), "without it"),
    (migrations.AddField("job", "x", models.CharField(max_length=9, null=True, db_index=True)), "its index blocks"),
    (migrations.AddField("logline", "x", models.CharField(max_length=9, null=True, unique=True)), "its index blocks"),
    (
        migrations.AddField("job", "x", models.ForeignKey("jobs.team", on_delete=models.PROTECT, null=True)),
        "its index blocks",
    ),
    (migrations.AddIndex("job", models.Index(fields=["state"], name="x")), "blocks those who write"),
    (migrations.AddIndex("JobEvent", models.Index(fields=["kind"], name="x")), "blocks those who write"),
    (migrations.AddIndex("delivery", models.Index(fields=["state"], name="x")), "blocks those who write"),
    (
        migrations.AddConstraint("logline", models.UniqueConstraint(fields=["job"], name="x")),
        "blocks those who write",
    ),
    (AddIndexConcurrently("job", models.Index(fields=["state"], name="x")), "needs atomic = False"),
    (migrations.RemoveIndex("job", "job_due"), "blocks those who write"),
    (RemoveIndexConcurrently("job", "job_due"), "needs atomic = False"),
    (migrations.AlterField("job", "ended_at", models.DateTimeField()), "may leave it empty"),
    (migrations.AlterField("job", "state", models.CharField(max_length=20)), "narrower"),
    (migrations.AlterField("job", "last_error", models.IntegerField()), "changes its type"),
    (migrations.AlterField("job", "expected_seconds", models.SmallIntegerField()), "changes its type"),
    (migrations.AlterField("job", "state", models.CharField(max_length=64, db_index=True)), "its index blocks"),
    (migrations.RunSQL("DROP TABLE jobs_job"), "REVIEWED"),
    (migrations.RunPython(migrations.RunPython.noop), "REVIEWED"),
    (
        migrations.SeparateDatabaseAndState(database_operations=[migrations.RemoveField("job", "last_error")]),
        "still use it",
    ),
]
GOOD: list[Any] = [
    migrations.AddField("job", "x", models.IntegerField(null=True)),
    migrations.AddField("job", "x", models.IntegerField(db_default=0)),
    migrations.AddIndex("persistentresource", models.Index(fields=["state"], name="x")),
    migrations.AlterField("job", "state", models.CharField(max_length=100)),
    migrations.AlterField("job", "expected_seconds", models.IntegerField()),
    migrations.CreateModel("Thing", [("id", models.BigAutoField(primary_key=True))]),
]


def judge(operation: Any, *, atomic: bool = True) -> list[str]:
    disk = migrated.history()
    (newest,) = (name for app, name in disk.graph.leaf_nodes("jobs"))
    made = type("Migration", (migrations.Migration,), {"operations": [operation], "atomic": atomic})("9999_x", "jobs")
    return list(migration_rules.faults(made, disk.project_state(("jobs", newest))))


@pytest.mark.parametrize(
    ("operation", "words"), BAD, ids=lambda value: "" if isinstance(value, str) else type(value).__name__
)
def test_what_would_stop_or_block_others_is_found(operation: Any, words: str) -> None:
    (found,) = judge(operation)

    assert words in found


@pytest.mark.parametrize("operation", GOOD, ids=lambda value: type(value).__name__)
def test_what_harms_nobody_is_let_through(operation: Any) -> None:
    assert judge(operation) == []


def test_an_index_that_is_built_or_removed_concurrently_is_let_through() -> None:
    index = models.Index(fields=["state"], name="x")

    assert judge(AddIndexConcurrently("job", index), atomic=False) == []
    assert judge(RemoveIndexConcurrently("job", "job_due"), atomic=False) == []


def test_a_new_database_gets_what_all_migrations_make() -> None:
    new, upgraded = MigrationLoader(None), migrated.history()
    (newest,) = (name for app, name in upgraded.graph.leaf_nodes("jobs"))

    def described(loader: MigrationLoader) -> dict[str, Any]:
        """Return the fields and options of each model, in an order of their own."""
        found = {}
        for (app, name), model in loader.project_state(("jobs", newest)).models.items():
            if app == "jobs":
                options = {
                    key: sorted(map(repr, value)) if isinstance(value, list) else value
                    for key, value in model.options.items()
                }
                found[name] = (
                    {key: field.deconstruct()[1:] for key, field in model.fields.items()},
                    options,
                    model.bases,
                )
        return found  # fmt: skip

    assert new.replacements, "the squashed migration"
    assert described(new) == described(upgraded)
