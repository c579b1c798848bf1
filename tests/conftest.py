"""Fixtures for all tests: users by role, a clock, servers. Network access is blocked except to loopback."""

import gc
import logging
import os
import random
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from django.db import connection
from django.test import Client
from hypothesis import settings

from tests.support import compiled_texts, migrated, network, postgres, redis
from tests.support.clock import Clock
from tests.support.examples import FEW, MANY

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from jobs.models import Team

# Properties are tried with the same examples in every run, so that green stays green; `make search` draws new ones.
settings.register_profile("steady", max_examples=FEW, derandomize=True, database=None, deadline=None)
settings.register_profile("search", max_examples=MANY, deadline=None, print_blob=True)
settings.load_profile("steady")

SERVERS = pytest.StashKey[ExitStack]()
BEGAN = pytest.StashKey[float]()
ORDER = "TRAINBOARD_TEST_ORDER"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a run leave out what the other database is tried with."""
    parser.addoption(
        "--both-databases-only",
        action="store_true",
        help="of tests/domain and tests/pages, run only those that have to hold on SQLite and on PostgreSQL",
    )
    parser.addoption(
        "--search-seconds",
        type=int,
        default=0,
        help="run the tests in a new random order, and skip those that have not begun after this time (0: all run)",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests of the domain and of pages that one database is enough for; shuffle those of a search."""
    if config.option.search_seconds:
        random.Random(os.environ[ORDER]).shuffle(items)
        items.sort(key=lambda item: item.get_closest_marker("heavy") is None)  # these always run
    if not config.option.both_databases_only:
        return
    kept, left = list[pytest.Item](), list[pytest.Item]()
    for item in items:
        is_of_one = {"domain", "pages"} & set(item.path.parts) and not item.get_closest_marker("both_databases")
        (left if is_of_one else kept).append(item)
    config.hook.pytest_deselected(items=left)
    items[:] = kept


def pytest_configure(config: pytest.Config) -> None:
    """Close the network; in the first process, start what all workers share."""
    network.close()
    os.environ.setdefault(ORDER, str(time.time_ns()))  # workers of pytest-xdist inherit it: they need the same order
    if hasattr(config, "workerinput") or config.option.collectonly:
        return
    compiled_texts.compile_new()
    state = Path(os.environ["TRAINBOARD_TEST_STATE"])
    servers = config.stash[SERVERS] = ExitStack()
    servers.callback(shutil.rmtree, state, ignore_errors=True)
    if os.environ.get("DATABASE_URL") == postgres.url(state):
        servers.enter_context(postgres.running(state))
        migrated.fill_postgres(state)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """End a search in time."""
    seconds, began = item.config.option.search_seconds, item.config.stash[BEGAN]
    if seconds and time.monotonic() - began > seconds:
        pytest.skip("the time of the search is over")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Look for garbage rarely, and never in what was imported and collected: it took up to half of a test's time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    session.config.stash[BEGAN] = time.monotonic()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop what was started, and remove the tests' state folder."""
    if servers := config.stash.get(SERVERS, None):
        servers.close()


@pytest.fixture(scope="session")
def django_db_keepdb(django_db_keepdb: bool) -> bool:
    """Let pytest-django begin with the copy below; the whole state folder is removed after the run."""
    return django_db_keepdb or connection.vendor == "sqlite"


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings: None) -> None:
    """Begin with a migrated SQLite database; on PostgreSQL the server's own one is the template (tests/settings.py)."""
    if connection.vendor == "sqlite":
        migrated.copy_sqlite(Path(connection.settings_dict["TEST"]["NAME"]))


# ---------------------------------------------------------------- time
@pytest.fixture(autouse=True)
def _as_before_a_worker() -> Iterator[None]:
    """Give back the umask and the level of the log that a worker inside a test has set for the whole process."""
    umask, level = os.umask(0o022), logging.getLogger().level
    yield
    os.umask(umask)
    logging.getLogger().setLevel(level)


@pytest.fixture(autouse=True)
def _nothing_kept() -> None:
    """Forget what earlier tests have read of databases that are gone, and drawn of jobs with the same ids."""
    if "jobs.cache" in sys.modules:
        from django.core.cache import caches

        sys.modules["jobs.cache"].forget_all()
        caches["rows"].clear()


@pytest.fixture
def clock() -> Clock:
    """The only time that domain tests know; it starts on Monday 2 March 2026, 09:00 UTC."""
    return Clock()


# ---------------------------------------------------------------- people
@pytest.fixture
def team(db: None) -> "Team":
    """The team `vision` of owner, teammate and approver. It requires approval above 4 dollars and has no maximum."""
    from jobs.models import Policy, Team

    team = Team.objects.create(name="vision", project="vision-research", bucket="gs://vision-training")
    Policy.objects.create(team=team, ask_over_usd=Decimal(4))
    return team


@pytest.fixture
def other_team(db: None) -> "Team":
    """The team `speech`, to which only the stranger belongs."""
    from jobs.models import Team

    return Team.objects.create(name="speech", project="speech-research", bucket="gs://speech-training")


PASSWORD = "correct horse of the tests"
"""Of the people of tests; the demo's opens only a rehearsal."""


def person(name: str, team: "Team", role: str) -> "User":
    """Create a person with one role in one team."""
    from django.contrib.auth.models import User

    from jobs.models import Membership

    user = User.objects.create_user(name, password=PASSWORD)
    Membership.objects.create(team=team, user=user, role=role)
    return user


@pytest.fixture
def owner(team: "Team") -> "User":
    """An engineer: requests the jobs of a test."""
    return person("owner", team, "engineer")


@pytest.fixture
def teammate(team: "Team") -> "User":
    """Another engineer of the same team; may not approve."""
    return person("teammate", team, "engineer")


@pytest.fixture
def approver(team: "Team") -> "User":
    """May approve what others of the team requested."""
    return person("approver", team, "approver")


@pytest.fixture
def stranger(other_team: "Team") -> "User":
    """A lead of another team, who must see nothing of `vision`."""
    return person("stranger", other_team, "lead")


@pytest.fixture
def admin(db: None) -> "User":
    """A superuser without a team."""
    from django.contrib.auth.models import User

    return User.objects.create_superuser("admin", password=PASSWORD)


@pytest.fixture
def second_admin(db: None) -> "User":
    """Another superuser, so that neither acts alone."""
    from django.contrib.auth.models import User

    return User.objects.create_superuser("root", password=PASSWORD)


@pytest.fixture
def other_lead(team: "Team") -> "User":
    """A second lead of `vision`."""
    return person("lena", team, "lead")


@pytest.fixture
def signed_in() -> Callable[["User"], Client]:
    """`signed_in(owner)` is a browser in which that person is signed in; errors in views are raised."""

    def sign_in(user: "User") -> Client:
        client = Client()
        client.force_login(user)
        return client

    return sign_in


# ---------------------------------------------------------------- servers
@pytest.fixture(scope="session", params=["embedded", "system"])
def redis_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A real broker; a test that asks for it runs twice: on the embedded server and on Debian's."""
    with redis.running(request.param) as url:
        yield url
