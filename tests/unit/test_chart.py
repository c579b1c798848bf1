"""Tests of the Helm chart: rendered by Helm, and held against the schemas that Kubernetes publishes for each kind."""

import re
from collections.abc import Iterable
from typing import Any

import kubernetes_validate
import pytest
import yaml

import dashboard
from deploy import chart
from tests.support.environments import ROOT

OLDEST, NEWEST = "1.25", kubernetes_validate.latest_version()
NEEDED = ("image=registry.example.org/trainboard:1", "host=board.example.org")
SMALL, PRODUCTION, GKE = (
    ("--values", str(chart.CHART / f"values-{name}.yaml")) for name in ("small", "production", "gke")
)
EVERYTHING = (
    "databaseUrl=postgres://trainboard@database:5432/trainboard", "redisUrl=redis://redis:6379/0",
    "google.credentialsSecret=google", "ingress.className=nginx", "ingress.annotations.a/b=c",
    "settings.TRAINBOARD_OIDC=corp", "pod.nodeSelector.disk=ssd", "restored=true",
)  # fmt: skip
VARIANTS = {
    "defaults": [],
    "small": [*SMALL],
    "production": [*PRODUCTION],
    "production on GKE": [*PRODUCTION, *GKE],
    "everything": [*PRODUCTION, "--set", ",".join(EVERYTHING)],
    "stopped": ["--set", "stopped=true"],
}

pytestmark = pytest.mark.skipif(not chart.has_helm(), reason="THE CHART IS NOT TESTED: no helm, see `make machine`")


def rendered(*arguments: str, release: str = "trainboard") -> list[dict[str, Any]]:
    """Return the documents of a release with an image and a host."""
    text = chart.template(*("--set", ",".join(NEEDED)), *arguments, release=release)
    return [each for each in yaml.safe_load_all(text) if each]


def hooks(documents: Iterable[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return what Helm applies before the release itself: {kind and name: document}."""
    return {
        f"{each['kind']} {each['metadata']['name']}": each
        for each in documents
        if "helm.sh/hook" in (each["metadata"].get("annotations") or {})
    }


def pods(documents: Iterable[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return {part: pod} of Deployments and Jobs."""
    templates = [each["spec"]["template"] for each in documents if each["kind"] in ("Deployment", "Job")]
    return {each["metadata"]["labels"]["part"]: each["spec"] for each in templates}


def variables(container: dict[str, Any]) -> dict[str, str]:
    """Return the environment that a container is given besides its Secret."""
    return {each["name"]: each["value"] for each in container["env"]}


def test_the_manifests_are_what_the_chart_renders() -> None:
    for path, text in chart.manifests().items():
        assert list(yaml.safe_load_all(path.read_text())) == list(yaml.safe_load_all(text)), "run `make manifests`"


@pytest.mark.parametrize("name", VARIANTS)
def test_every_document_fits_the_schema_of_its_kind(name: str) -> None:
    documents = rendered(*VARIANTS[name])

    assert {"Deployment", "Job", "NetworkPolicy", "Service", "ServiceAccount"} <= {each["kind"] for each in documents}
    for document in documents:
        for version in (OLDEST, NEWEST):
            kubernetes_validate.validate(document, version, strict=True)


def test_a_field_that_no_kind_has_would_be_found() -> None:
    (service,) = [each for each in rendered() if each["kind"] == "Service"]
    service["spec"]["selectors"] = service["spec"].pop("selector")

    with pytest.raises(kubernetes_validate.ValidationError, match="selectors"):
        kubernetes_validate.validate(service, OLDEST, strict=True)


@pytest.mark.parametrize("values", [SMALL, PRODUCTION, [*PRODUCTION, *GKE]])
def test_helm_finds_no_fault(values: list[str]) -> None:
    done = chart.helm("lint", "--strict", str(chart.CHART), *values, "--set", ",".join(NEEDED))

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", VARIANTS)
def test_only_worker_and_sender_can_call_google(name: str) -> None:
    documents = rendered(*VARIANTS[name])
    accounts = {each["metadata"]["name"]: each for each in documents if each["kind"] == "ServiceAccount"}

    for part, pod in pods(documents).items():
        calls_google = part in ("worker", "sender")
        assert pod.get("automountServiceAccountToken", True) is calls_google
        assert (pod["serviceAccountName"] == "trainboard") is calls_google
        assert pod["serviceAccountName"] in accounts
        assert (calls_google and name == "everything") == ("google" in {each["name"] for each in pod["volumes"]})
        assert pod["securityContext"]["runAsNonRoot"]
        for container in [*pod["containers"], *pod.get("initContainers", ())]:
            assert {each["name"] for each in container["volumeMounts"]} == {each["name"] for each in pod["volumes"]}
    assert [name for name, each in accounts.items() if "iam.gke.io/gcp-service-account" in str(each)] == (
        ["trainboard"] if "GKE" in name else []
    )


def test_what_runs_before_a_release_needs_nothing_of_it() -> None:
    """Helm applies hooks first: at an installation there is nothing else yet."""
    before = hooks(rendered(*VARIANTS["everything"]))

    assert sorted(before, key=lambda each: int(before[each]["metadata"]["annotations"]["helm.sh/hook-weight"])) == [
        "ServiceAccount trainboard-migrate", "Job trainboard-migrate", "Job trainboard-restored",
    ]  # fmt: skip
    assert {each["metadata"]["annotations"]["helm.sh/hook"] for each in before.values()} == {"pre-install,pre-upgrade"}
    for pod in pods(before.values()).values():
        assert pod["serviceAccountName"] == "trainboard-migrate"
        assert all("emptyDir" in each for each in pod["volumes"])
        for container in [*pod["containers"], *pod.get("initContainers", ())]:
            assert container["envFrom"] == [{"secretRef": {"name": "trainboard"}}]


def test_every_container_has_the_same_settings_and_a_setting_of_the_operator_counts() -> None:
    told = "settings.TRAINBOARD_LOG_FORMAT=line,settings.TRAINBOARD_OIDC=corp,databaseUrl=postgres://a@b/c"
    found = [variables(each["containers"][0]) for each in pods(rendered("--set", told)).values()]

    assert found[0] == {
        "DATABASE_URL": "postgres://a@b/c", "TRAINBOARD_HOSTS": "board.example.org", "TRAINBOARD_HTTPS": "1",
        "TRAINBOARD_INSTANCE": "trainboard", "TRAINBOARD_LOG_FORMAT": "line", "TRAINBOARD_OIDC": "corp",
        "TRAINBOARD_ORIGINS": "https://board.example.org", "TRAINBOARD_URL": "https://board.example.org",
    }  # fmt: skip
    assert all(each == found[0] for each in found)
    listed = re.findall(r"`([A-Z_]+)`", (ROOT / "README.md").read_text())
    assert set(found[0]) <= set(listed)


def test_a_site_without_https_does_not_claim_it() -> None:
    found = variables(pods(rendered(*SMALL, "--set", "host=localhost"))["web"]["containers"][0])

    assert set(found) == {"TRAINBOARD_HOSTS", "TRAINBOARD_INSTANCE", "TRAINBOARD_LOG_FORMAT"}


def test_nothing_runs_while_stopped_and_one_pod_can_be_drained() -> None:
    def replicas(*values: str) -> set[int]:
        return {each["spec"]["replicas"] for each in rendered(*values) if each["kind"] == "Deployment"}

    def budgets(*values: str) -> list[str]:
        return [each["metadata"]["name"] for each in rendered(*values) if each["kind"] == "PodDisruptionBudget"]

    assert (replicas("--set", "stopped=true"), replicas(*SMALL)) == ({0}, {1})
    assert (budgets(), budgets(*SMALL)) == (["trainboard-web"], [])


def test_two_releases_share_no_name_and_no_pod() -> None:
    first, second = rendered(*PRODUCTION), rendered(*PRODUCTION, release="rehearsal")

    assert not {each["metadata"]["name"] for each in first} & {each["metadata"]["name"] for each in second}
    assert (
        re.findall(r"app: trainboard|values: \[trainboard\]", yaml.safe_dump_all(second, default_flow_style=None)) == []
    )


@pytest.mark.parametrize(
    ("setting", "named"),
    [
        ("image=", "image"),
        ("host=https://board.example.org", "host"),
        ("hots=board.example.org", "hots"),
        ("web.replicas=0", "replicas"),
        ("beat.replicas=2", "replicas"),
        ("databaseUrl=postgres://me:secret@database/trainboard", "databaseUrl"),
        ("redisUrl=redis://:secret@redis", "redisUrl"),
        ("settings.TRAINBOARD_POLL_SECONDS=30", "TRAINBOARD_POLL_SECONDS"),
        ("pod.hostNetwork=true", "hostNetwork"),
    ],
)
def test_a_value_that_cannot_be_meant_is_refused_by_name(setting: str, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        rendered("--set", setting)


def test_the_version_is_the_site_s() -> None:
    about = yaml.safe_load((chart.CHART / "Chart.yaml").read_text())

    assert (about["version"], about["appVersion"]) == (dashboard.__version__, dashboard.__version__)
    assert OLDEST in about["kubeVersion"]
