"""Benchmarks of specs: assessing one by every rule, a request of the live preview, importing gcloud YAML.

Pages are timed in the site's WSGI application, without the server around it and the network. Run as a script. It prints
a table of measurements with their targets and with what something else takes, and fails if a target is missed. All
sides take turns in one process. Times are CPU times of this process, so that other programs on the machine have little
effect, and medians over the rounds.
"""

import copy
import gc
import io
import itertools
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import django
import yaml
from google.cloud import aiplatform_v1
from google.protobuf import json_format

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
STATE = tempfile.TemporaryDirectory(prefix="tb-bench-")
for name in ("DATABASE_URL", "TRAINBOARD_TEST_POSTGRES"):
    os.environ.pop(name, None)
os.environ |= {"TRAINBOARD_TEST_STATE": STATE.name, "DJANGO_SETTINGS_MODULE": "tests.settings"}
django.setup()

from django.contrib.auth.models import User  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection, connections  # noqa: E402
from django.test import Client  # noqa: E402

from bench._table import Row, show  # noqa: E402
from dashboard.wsgi import application  # noqa: E402
from jobs import importer, spec, strategies  # noqa: E402
from jobs.models import Membership, Policy, Team  # noqa: E402
from jobs.spec import Submission  # noqa: E402
from tests.support.person import compose_form  # noqa: E402

RULES_MS, PREVIEW_MS, IMPORT_MS = 0.3, 20, 20
ROUNDS = 25
ENOUGH_SECONDS = 30
"""No further round starts after this, so that the race ends within a minute on a busy machine."""
YAML_LINES = 200
POOL: dict[str, Any] = {
    "machineSpec": {"machineType": "a2-highgpu-1g", "acceleratorType": "NVIDIA_TESLA_A100", "acceleratorCount": 1},
    "replicaCount": "1",
    "diskSpec": {"bootDiskType": "pd-ssd", "bootDiskSizeGb": 200},
    "containerSpec": {
        "imageUri": "us-docker.pkg.dev/trainboard/samples/penguins:latest",
        "command": ["python", "train.py"],
        "args": ["--epochs", "40", "--batch-size=256"],
        "env": [{"name": "NCCL_DEBUG", "value": "INFO"}, {"name": "MODE", "value": "fast"}],
    },
}
BODY: dict[str, Any] = {
    "displayName": "penguins",
    "labels": {"team": "vision"},
    "jobSpec": {
        "workerPoolSpecs": [POOL, copy.deepcopy(POOL) | {"replicaCount": "3"}],
        "scheduling": {"timeout": "86400s", "strategy": "SPOT"},
        "serviceAccount": "trainer@bench.iam.gserviceaccount.com",
        "baseOutputDirectory": {"outputUriPrefix": "gs://bench/penguins/"},
    },
}


@dataclass(frozen=True)
class Contender:
    """A function to time: `times` calls of `run` per round, each with the value that `prepare` made for it."""

    times: int
    run: Callable[[Any], object]
    prepare: Callable[[], Any] = lambda: None

    def milliseconds(self) -> float:
        """Return the average milliseconds per call in one round."""
        given = [self.prepare() for _ in range(self.times)]
        began = time.process_time()
        for each in given:
            self.run(each)
        return (time.process_time() - began) * 1000 / self.times


def submission() -> Submission:
    """Return the Spot job with two worker pools, parsed again so that nothing is cached from the previous round."""
    job, findings = spec.read("custom_job", BODY)
    assert job is not None, findings
    return Submission("custom_job", "bench", "us-central1", job)


def parse(_: object) -> object:
    """Parse the body with Google's protobuf."""
    return json_format.ParseDict(BODY, aiplatform_v1.CustomJob.pb(aiplatform_v1.CustomJob()))


def config() -> str:
    """Return a gcloud YAML of YAML_LINES lines: the job itself, padded with environment variables."""
    body = copy.deepcopy(BODY["jobSpec"])
    container = body["workerPoolSpecs"][1]["containerSpec"]
    missing = YAML_LINES - _lines(body)
    container["env"] += [{"name": f"SETTING_{number}", "value": f"value {number}"} for number in range(missing // 2)]
    container["args"] += ["--verbose"] * (missing % 2)
    return yaml.safe_dump(body, sort_keys=False)


def _lines(body: dict[str, Any]) -> int:
    return yaml.safe_dump(body, sort_keys=False).count("\n")


def browsers() -> tuple[Client, Client, dict[str, str]]:
    """Create a site with one team and one engineer. Return their browser, a stranger's, and the posted example."""
    call_command("migrate", verbosity=0)
    team = Team.objects.create(name="vision", project="bench", bucket="gs://bench")
    Policy.objects.create(team=team, ask_over_usd=1)
    engineer = User.objects.create_user("engineer")
    Membership.objects.create(team=team, user=engineer, role="engineer")
    browser, stranger = (Client(SERVER_NAME="localhost") for _ in range(2))
    browser.force_login(engineer)
    page = browser.get("/jobs/new/?example=penguins").content.decode()
    typed = compose_form(page).values
    return browser, stranger, typed


def served(browser: Client, path: str, body: bytes = b"") -> bytes:
    """Call the site's WSGI application with the browser's cookies, as the server does for a page."""
    statuses: list[str] = []
    answer = application(
        {
            "REQUEST_METHOD": "POST" if body else "GET",
            "SCRIPT_NAME": "",
            "PATH_INFO": path,
            "SERVER_NAME": "localhost",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": "127.0.0.1",
            "CONTENT_TYPE": "application/x-www-form-urlencoded",
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_COOKIE": browser.cookies.output(attrs=[], header="", sep=";"),
            "wsgi.input": io.BytesIO(body),
            "wsgi.errors": sys.stderr,
            "wsgi.url_scheme": "http",
        },
        lambda status, _headers, _problem=None: statuses.append(status),
    )
    page = b"".join(answer)
    answer.close()
    assert statuses == ["200 OK"], statuses
    return page


def contenders() -> dict[str, Contender]:
    """Return the contenders."""
    browser, stranger, typed = browsers()
    connection.settings_dict["CONN_MAX_AGE"] = 300  # as on the site; tests close connections after each request
    text = config()
    assert text.count("\n") == YAML_LINES
    assert importer.read_text(text).body["jobSpec"]["workerPoolSpecs"][1]["replicaCount"] == "3"
    keystroke = itertools.count()

    def form() -> bytes:
        """Return what htmx sends after one more typed character in the arguments, which are different each time."""
        return urlencode(typed | {"pool-0-args": f"--epochs 40 --seed {next(keystroke)}"}).encode()

    def preview(posted: bytes) -> bytes:
        return served(browser, "/jobs/new/check/", posted)

    assert b"SPOT" in preview(form())
    return {
        "rules": Contender(50, strategies.check, submission),
        "ParseDict": Contender(50, parse),
        "pydantic": Contender(50, lambda _: spec.read("custom_job", BODY)),
        "preview": Contender(4, preview, form),
        "sign-in": Contender(4, lambda _: served(stranger, "/accounts/login/")),
        "import": Contender(4, lambda _: importer.read_text(text)),
        "safe_load": Contender(2, lambda _: yaml.safe_load(text)),
        "CSafeLoader": Contender(8, lambda _: yaml.load(text, yaml.CSafeLoader)),
    }


def measure(racing: dict[str, Contender]) -> dict[str, float]:
    """Run the contenders in turns and return the median milliseconds of each."""
    gc.collect()
    gc.freeze()  # otherwise the site's collections would traverse Google's library, which it does not import
    for each in racing.values():
        each.milliseconds()  # the first call imports and compiles
    rounds: dict[str, list[float]] = {name: [] for name in racing}
    began = time.perf_counter()
    while len(rounds["rules"]) < ROUNDS and time.perf_counter() - began < ENOUGH_SECONDS:
        for name, each in racing.items():
            rounds[name].append(each.milliseconds())
    return {name: statistics.median(times) for name, times in rounds.items()}


def rows(took: dict[str, float]) -> list[Row]:
    """Return the lines of the table."""
    lines = (
        ("every rule over one Spot spec", "rules", "ParseDict", RULES_MS, "Google's ParseDict of the same body"),
        ("", "rules", "pydantic", None, "parsing it with pydantic"),
        ("live preview of the example", "preview", "sign-in", PREVIEW_MS, "rendering the sign-in page"),
        (f"import of {YAML_LINES} lines of gcloud YAML", "import", "safe_load", IMPORT_MS, "yaml.safe_load alone"),
        ("", "import", "CSafeLoader", None, "PyYAML with libyaml alone"),
    )
    return [
        Row(what, took[ours], took[peer], "ms", took[ours] / took[peer], f"of {words}", target)
        for what, ours, peer, target, words in lines
    ]


def main() -> int:
    """Run the race and print the table. Return 1 if a target is missed. Takes about half a minute."""
    with STATE:
        found = rows(measure(contenders()))
        connections.close_all()
    show(found)
    return 1 if any(row.is_missed for row in found) else 0


if __name__ == "__main__":
    sys.exit(main())
