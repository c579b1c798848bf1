"""Settings for tests: a separate state folder, nothing from the shell's environment, no broker, no manifest.

Only the first process of a run chooses the folder; workers of pytest-xdist inherit it through the environment.
`TRAINBOARD_TEST_POSTGRES=1` runs the tests on a PostgreSQL server that `tests/conftest.py` starts in that folder, and
`DATABASE_URL` on an existing server.
"""

import os
import tempfile
from pathlib import Path

from tests.support import postgres

if not os.environ.get("TRAINBOARD_TEST_STATE"):  # it is removed after the tests: never the current folder
    os.environ["TRAINBOARD_TEST_STATE"] = tempfile.mkdtemp(prefix="tb-test-", dir="/tmp")
STATE = Path(os.environ["TRAINBOARD_TEST_STATE"])
for name in [name for name in os.environ if name.startswith("TRAINBOARD_")]:
    if not name.startswith("TRAINBOARD_TEST_"):
        del os.environ[name]
os.environ["TRAINBOARD_STATE"] = str(STATE)
if os.environ.get("TRAINBOARD_TEST_POSTGRES") == "1" and not os.environ.get("DATABASE_URL"):
    os.environ["DATABASE_URL"] = postgres.url(STATE)

from dashboard.settings import *  # noqa: E402, F403
from dashboard.settings import DATABASES, STATIC_ROOT, STORAGES  # noqa: E402

STATIC_ROOT.mkdir(parents=True, exist_ok=True)
STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
CELERY_BROKER_URL = "memory://"
REDIS_URL = f"unix://{STATE}/no-redis"
# Tests share moments, so that what one of them called would count against the next; tests of the budget set their own.
CREATES_PER_MINUTE = READS_PER_MINUTE = LOG_READS_PER_MINUTE = API_CALLS_PER_MINUTE = 1_000_000
IMPORTS_PER_MINUTE = ASSESSMENTS_PER_MINUTE = 1_000_000
# A file, as on a real machine: an SQLite database in memory would hide how two connections wait for each other.
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    DATABASES["default"]["TEST"] = {"NAME": str(STATE / "test.sqlite3")}
    # Rows without ORDER BY come in another order than they were written in, as they may on PostgreSQL at any time.
    OPTIONS = DATABASES["default"]["OPTIONS"]
    OPTIONS["init_command"] += " PRAGMA reverse_unordered_selects=ON;"
elif os.environ["DATABASE_URL"] == postgres.url(STATE):  # tests/conftest.py has migrated it
    DATABASES["default"]["TEST"] = {"TEMPLATE": "trainboard"}
DATABASES["default"]["CONN_MAX_AGE"] = 0
