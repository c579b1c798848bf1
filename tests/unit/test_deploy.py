"""Tests that alert rules, the dashboard and the manifests name existing metrics, arguments and runbook lines."""

import json
import re
from typing import Any

import pytest
import yaml
from django.conf import settings
from django.core.management import get_commands
from django.test import Client

from jobs import counts, stages
from jobs.models import Scope
from jobs.queue import installation
from jobs.upkeep.heartbeats import record_heartbeat, store_counts
from tests.support.clock import Clock
from tests.support.environments import ROOT

DEPLOY = ROOT / "deploy"
RULES = [
    rule
    for group in yaml.safe_load((DEPLOY / "prometheus/alerts.yaml").read_text())["groups"]
    for rule in group["rules"]
]
PANELS = json.loads((DEPLOY / "grafana/dashboard.json").read_text())["panels"]
MANIFESTS = list(yaml.safe_load_all((DEPLOY / "kubernetes/trainboard.yaml").read_text()))
RESTORED = yaml.safe_load((DEPLOY / "kubernetes/restored.yaml").read_text())
METRIC = re.compile(r"\btrainboard_\w+")


@pytest.fixture
def served(db: None, client: Client, clock: Clock) -> dict[str, set[str]]:
    """Return the names of all samples that /metrics has, with the names of their labels."""
    counts.take()
    counts.count_call("Vertex AI", 200)
    counts.count_submission(1)
    store_counts()
    record_heartbeat("beat@a", "beat", now=clock.now)
    Scope.objects.create(project="p", region="r", kind="custom_job")
    stages.sweep(clock.clock, {})
    installation.mark_restored("a test", now=clock.now)
    text = client.get("/metrics").content.decode()
    found: dict[str, set[str]] = {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            found.setdefault(line.split()[2], set())
        elif match := re.match(r"(\w+)(?:\{(.*)\})? ", line):
            found.setdefault(match[1], set()).update(re.findall(r"(\w+)=", match[2] or ""))
    return found


def test_every_metric_and_label_is_served(served: dict[str, set[str]]) -> None:
    expressions = [rule["expr"] for rule in RULES] + [each["expr"] for panel in PANELS for each in panel["targets"]]
    for expression in expressions:
        named = METRIC.findall(expression)

        assert named, expression
        assert set(named) <= set(served), expression
        for metric, labels in re.findall(r"\b(trainboard_\w+)\{([^}]*)\}", expression):
            assert set(re.findall(r"(\w+)(?:=~|=|!=)", labels)) <= served[metric], expression


def test_every_alert_has_a_line_in_the_runbook_and_none_is_left_over() -> None:
    lines = (ROOT / "docs/operations.md").read_text().splitlines()
    runbook = {line[4:]: lines[at + 1] for at, line in enumerate(lines) if line.startswith("### Trainboard")}

    assert {rule["alert"] for rule in RULES} == set(runbook)
    assert all(line.endswith(".") for line in runbook.values())
    for rule in RULES:
        assert rule["annotations"]["runbook"] == f"docs/operations.md#{rule['alert'].lower()}"
        assert rule["labels"]["severity"] in ("page", "ticket")


def test_expressions_have_their_brackets() -> None:
    for rule in RULES:
        for opening, closing in ("()", "{}", "[]"):
            assert rule["expr"].count(opening) == rule["expr"].count(closing), rule["alert"]


def pods(*manifests: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    kinds = [each for each in manifests if each["kind"] in ("Deployment", "Job")]
    return [(each["metadata"]["name"], each["spec"]["template"]["spec"]) for each in kinds]


def test_every_claim_of_the_threat_model_names_a_test() -> None:
    rows = [line for line in (ROOT / "docs/threat-model.md").read_text().splitlines() if line.startswith("| ")]
    claims = [row for row in rows if not row.startswith("| claim")]

    assert len(claims) > 20
    for claim in claims:
        found = re.search(r"`(tests/[\w/]+\.py)::(test_\w+)` \|$", claim)
        assert found, claim
        assert re.search(rf"^ *def {found[2]}\(", (ROOT / found[1]).read_text(), re.MULTILINE), claim


class TestKubernetes:
    def test_runs_every_process_of_the_image(self) -> None:
        commands = re.findall(r"^  (\w+)\)", (DEPLOY / "start.sh").read_text(), re.MULTILINE)

        assert sorted(pod["containers"][0]["args"][0] for _, pod in pods(*MANIFESTS)) == sorted(commands)

    def test_a_restore_is_marked_by_a_job_of_its_own_after_the_migrations(self) -> None:
        ((_, pod),) = pods(RESTORED)
        ((_, usual),) = [each for each in pods(*MANIFESTS) if each[0] == "trainboard-migrate"]

        assert (RESTORED["kind"], pod["restartPolicy"]) == ("Job", "Never")
        assert pod["initContainers"] == usual["containers"]
        assert [each["args"] for each in pod["containers"]] == [["restored"]]
        assert "restored" in get_commands()

    @pytest.mark.parametrize(("name", "pod"), pods(*MANIFESTS, RESTORED))
    def test_every_pod_is_confined(self, name: str, pod: dict[str, Any]) -> None:
        calls_google = name in ("trainboard-worker", "trainboard-sender")
        of = {"trainboard-migrate": "trainboard-migrate", "trainboard-restored": "trainboard-migrate"}
        assert pod["serviceAccountName"] == ("trainboard" if calls_google else of.get(name, "trainboard-web"))
        assert pod.get("automountServiceAccountToken", True) is calls_google
        assert pod["securityContext"]["runAsNonRoot"]
        assert pod["securityContext"]["runAsUser"] == 10001
        assert len(pod["containers"]) == 1
        for container in [*pod["containers"], *pod.get("initContainers", ())]:
            assert container["securityContext"]["readOnlyRootFilesystem"]
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
            assert {each["mountPath"] for each in container["volumeMounts"]} == {"/state", "/tmp"}
            assert {each["name"] for each in container["volumeMounts"]} == {each["name"] for each in pod["volumes"]}

    def test_only_worker_and_sender_have_an_identity_at_google(self) -> None:
        accounts = {
            each["metadata"]["name"]: each["metadata"] for each in MANIFESTS if each["kind"] == "ServiceAccount"
        }
        policies = {each["metadata"]["name"]: each["spec"] for each in MANIFESTS if each["kind"] == "NetworkPolicy"}

        assert set(accounts) == {"trainboard", "trainboard-web", "trainboard-migrate"}
        assert [name for name, each in accounts.items() if "iam.gke.io" in str(each)] == ["trainboard"]
        assert policies["trainboard-no-tokens"]["podSelector"]["matchExpressions"][1] == {
            "key": "part", "operator": "NotIn", "values": ["worker", "sender"],
        }  # fmt: skip
        blocked = policies["trainboard-no-tokens"]["egress"][0]["to"][0]["ipBlock"]["except"]
        assert "169.254.169.254/32" in blocked
        assert policies["trainboard-ingress"]["ingress"] == []
        cloud_run = (ROOT / "docs/deploy-cloud-run.md").read_text()
        (web,) = re.findall(r"^gcloud run deploy trainboard .*$", cloud_run, re.MULTILINE)
        assert "--service-account=$WEB_ACCOUNT" in web

    def test_probes_ask_addresses_that_exist(self) -> None:
        (web,) = [pod["containers"][0] for name, pod in pods(*MANIFESTS) if name == "trainboard-web"]

        assert web["readinessProbe"]["httpGet"]["path"] == "/readyz"
        assert web["livenessProbe"]["httpGet"]["path"] == "/healthz"

    def test_beat_is_never_there_twice(self) -> None:
        (beat,) = [each for each in MANIFESTS if each["metadata"]["name"] == "trainboard-beat"]

        assert beat["spec"]["replicas"] == 1
        assert beat["spec"]["strategy"] == {"type": "Recreate"}

    def test_variables_are_listed(self) -> None:
        containers = [pod["containers"][0] for _, pod in pods(*MANIFESTS, RESTORED)]
        named = {each["name"] for container in containers for each in container["env"]}

        assert named
        assert named <= set(re.findall(r"`([A-Z_]+)`", (ROOT / "README.md").read_text()))


@pytest.mark.parametrize("queue", [each.name for each in settings.CELERY_TASK_QUEUES])
def test_every_queue_has_a_worker_wherever_the_site_is_deployed(queue: str) -> None:
    start = re.search(rf"^  (\w+)\) work {queue} \1 ;;$", (DEPLOY / "start.sh").read_text(), re.MULTILINE)
    assert start is not None
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    in_cluster = [each for each in MANIFESTS if each["kind"] == "Deployment"]

    assert [start[1]] in [each.get("command") for each in compose.values()]
    assert [start[1]] in [each["spec"]["template"]["spec"]["containers"][0].get("args") for each in in_cluster]
    cloud_run = re.search(r"^for part in (.+); do$", (ROOT / "docs/deploy-cloud-run.md").read_text(), re.MULTILINE)
    assert cloud_run is not None
    assert start[1] in cloud_run[1].split()
