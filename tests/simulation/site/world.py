"""The database that every run begins with: a team with its people, policy, budget and channel."""

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from decimal import Decimal
from functools import cache
from pathlib import Path

from django.contrib.auth.models import User
from django.db import connection, connections

from jobs.messages.webhook import new_secret
from jobs.models import Budget, Channel, Membership, Message, Policy, Team
from jobs.models.ledger import Dimension
from tests.settings import STATE
from tests.simulation.kernel import EPOCH
from tests.simulation.site.databases import SqliteDatabase, copy_database
from tests.simulation.site.network import RECEIVER
from tests.simulation.site.people import BUDGET_USD
from tests.simulation.site.postgresql import WORLD, PostgresDatabase, administer
from tests.support import migrated, postgres

ROLES = {
    "owner": "engineer", "teammate": "engineer", "approver": "approver", "second": "approver",
    "lead": "lead", "other lead": "lead",
}  # fmt: skip
ASK_OVER_USD = Decimal(25)


def fill() -> None:
    """Write the team into the empty database of the present connection."""
    team = Team.objects.create(name="vision", project="vision-research", bucket="gs://vision-training")
    Policy.objects.create(team=team, ask_over_usd=ASK_OVER_USD)
    for name, role in ROLES.items():
        Membership.objects.create(team=team, user=User.objects.create_user(name, password=None), role=role)
    Budget.objects.create(
        team=team, name="month", dimension=Dimension.ALL, amount_usd=BUDGET_USD, passing="stop", created_at=EPOCH
    )
    Channel.objects.create(
        team=team,
        via="webhook",
        name="hook",
        address=f"{RECEIVER}/hook",
        kinds=[str(kind) for kind in Message.Kind],
        secret=new_secret(),
        created_by=User.objects.get(username="lead"),
        created_at=EPOCH - timedelta(days=1),
    )


@cache
def sqlite_template() -> Path:
    """Return a file with migrations and team. It is made once, and removed with everything beside it at the end."""
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="tb-sim-", dir=memory if os.access(memory, os.W_OK) else None))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    file, template = folder / "migrated.sqlite3", folder / "world.sqlite3"
    migrated.copy_sqlite(file)
    _fill(str(file))
    copy_database(file, template)
    return template


@cache
def postgres_template() -> None:
    """Make the database of the world on the configured server, from its migrated one."""
    administer("DROP DATABASE IF EXISTS {}", WORLD)
    administer("CREATE DATABASE {} TEMPLATE {}", WORLD, "trainboard")
    _fill(WORLD)


@contextmanager
def server() -> Iterator[None]:
    """Inside the block, the server of the settings runs; its database is migrated."""
    with postgres.running(STATE):
        migrated.fill_postgres(STATE)
        yield


def prepare() -> None:
    """Make the template for the database of the settings, once for this process and its children."""
    if connection.vendor == "postgresql":
        postgres_template()
    else:
        sqlite_template()


@cache
def database() -> SqliteDatabase | PostgresDatabase:
    """Return the database of this process, for one run after the other."""
    if connection.vendor == "postgresql":
        postgres_template()
        return PostgresDatabase()
    return SqliteDatabase(sqlite_template())


def _fill(name: str) -> None:
    """Write the team into the database with this NAME."""
    before = connections["default"]
    opened = connections["default"] = before.copy()
    opened.settings_dict["NAME"] = name
    try:
        fill()
    finally:
        opened.close()
        connections["default"] = before
