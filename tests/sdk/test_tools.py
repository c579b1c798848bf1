"""Tests of the examples in docs/emulator.md under "Point your own tool here".

Installed tools run as in the examples. Airflow, Prefect, ZenML and the pipeline components take hundreds of megabytes,
so their requests are made in their place, with the settings of the page. `TRAINBOARD_TEST_TOOLS=FOLDER` runs the real
ones from environments in FOLDER/airflow, FOLDER/prefect, FOLDER/zenml and FOLDER/pipeline-components.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.running_emulator import Running, running

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "emulator.md").read_text()
SNIPPETS: dict[str, str] = dict(re.findall(r"<!-- snippet: ([\w-]+) -->\n```\w+\n(.*?)```", PAGE, re.DOTALL))
JOBS, PIPELINES = ("/v1/projects/demo/locations/us-central1/" + kind for kind in ("customJobs", "trainingPipelines"))
ENDPOINT = "us-central1-aiplatform.googleapis.com"
CLIENT = """
from google.cloud import aiplatform_v1 as v1
container = {"image_uri": "image", "command": ["python", "-c", "print('trained')"]}
pool = {"machine_spec": {"machine_type": "n1-standard-4"}, "replica_count": 1, "container_spec": container}
job = {"display_name": "made", "job_spec": {"worker_pool_specs": [pool]}}
parent = "projects/demo/locations/us-central1"
"""
REQUESTS = {
    # hooks/vertex_ai/custom_job.py: CustomJobHook.get_pipeline_service_client, list_training_pipelines
    "airflow": f"""
client = v1.PipelineServiceClient(client_options={{"api_endpoint": "{ENDPOINT}:443"}})
inputs = {{"workerPoolSpecs": [{{"machineSpec": {{"machineType": "n1-standard-4"}}, "replicaCount": 1,
    "containerSpec": {{"imageUri": "image", "command": ["python", "-c", "pass"]}}}}]}}
schema = "gs://google-cloud-aiplatform/schema/trainingjob/definition/custom_task_1.0.0.yaml"
made = client.create_training_pipeline(parent=parent, training_pipeline=v1.TrainingPipeline(
    display_name="made", training_task_definition=schema, training_task_inputs=inputs))
assert [each.name for each in client.list_training_pipelines(parent=parent)] == [made.name]
""",
    # prefect_gcp/workers/vertex.py: VertexAIWorker.run
    "prefect": f"""
import asyncio
from google.oauth2 import service_account
scopes = ["https://www.googleapis.com/auth/cloud-platform"]
credentials = service_account.Credentials.from_service_account_file("robot.json", scopes=scopes)
async def run():
    client = v1.JobServiceAsyncClient(credentials=credentials, client_options={{"api_endpoint": "{ENDPOINT}"}})
    made = await client.create_custom_job(parent=parent, custom_job=job)
    assert (await client.get_custom_job(name=made.name)).name == made.name
asyncio.run(run())
""",
    # integrations/gcp/step_operators/vertex_step_operator.py: submit, get_status, cancel
    "zenml": f"""
client = v1.JobServiceClient(client_options={{"api_endpoint": "{ENDPOINT}"}})
made = client.create_custom_job(parent=parent, custom_job=job)
client.get_custom_job(name=made.name)
client.cancel_custom_job(name=made.name)
""",
    # container/v1/gcp_launcher/job_remote_runner.py: create_job, poll_job
    "pipeline-components": f"""
from google.api_core import gapic_v1
info = gapic_v1.client_info.ClientInfo(user_agent="google-cloud-pipeline-components")
client = v1.JobServiceClient(client_options={{"api_endpoint": "{ENDPOINT}"}}, client_info=info)
made = client.create_custom_job(parent=parent, custom_job=job)
assert client.get_custom_job(name=made.name).display_name == "made"
""",
}
ZENML = """
import datetime, uuid
from zenml.config.resource_settings import ResourceSettings
from zenml.enums import StackComponentType
from zenml.integrations.gcp.flavors import vertex_step_operator_flavor as flavor
from zenml.integrations.gcp.step_operators import vertex_step_operator as vertex
now = datetime.datetime.now()
config = flavor.VertexStepOperatorConfig(region="us-central1", project="demo", service_account_path="robot.json")
operator = vertex.VertexStepOperator(name="vertex", id=uuid.uuid4(), config=config, flavor="vertex", user=None,
    type=StackComponentType.STEP_OPERATOR, created=now, updated=now)
request = vertex.build_job_request(display_name="made", image="image", entrypoint_command=["python", "-c", "pass"],
    custom_job_settings=flavor.VertexStepOperatorSettings(machine_type="n1-standard-4"), environment={}, labels={},
    resource_settings=ResourceSettings(), encryption_spec_key_name=None, service_account=None, network=None)
parent = f"projects/{operator.gcp_project_id}/locations/us-central1"
operator.get_job_service_client().create_custom_job(parent=parent, custom_job=request)
"""


@pytest.fixture
def emulator(tmp_path: Path) -> Iterator[Running]:
    """As the page starts it."""
    with running(tmp_path / "state", grpc=True) as made:
        yield made


@pytest.fixture
def run(emulator: Running, tmp_path: Path) -> Callable[..., str]:
    """`run(program, text, *snippets of the shell before it)` runs a block with the addresses of the emulator."""

    def here(text: str) -> str:
        text = text.replace("http://127.0.0.1:8900", emulator.url).replace("localhost:8901", emulator.grpc)
        text = text.replace("127.0.0.1:8901", emulator.grpc.replace("localhost", "127.0.0.1"))
        return text.replace("DIR/", f"{emulator.state}/")

    def start(program: str, text: str, *before: str) -> str:
        script = tmp_path / "block"
        script.write_text(here(text))
        shell = "\n".join(["set -e", *(here(SNIPPETS[name]) for name in before), f'exec "{program}" "{script}"'])
        clean = {
            key: value for key, value in os.environ.items() if not key.startswith(("GRPC_", "GOOGLE_", "CLOUDSDK"))
        }
        home = {"HOME": str(tmp_path), "AIRFLOW_HOME": str(tmp_path), "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "0"}
        done = subprocess.run(
            ["sh", "-c", shell],
            cwd=tmp_path,
            env=clean | home,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return start


def names(emulator: Running, kind: str) -> set[str]:
    """The display names of the jobs or pipelines that were made."""
    return {each["displayName"] for each in emulator.call("GET", kind).get(kind.rpartition("/")[2], [])}


def test_every_block_of_the_page_is_tested_here() -> None:
    ran = {"gcloud", "sdk-rest", "sdk-grpc", "service-account", "environment", *REQUESTS}

    assert set(SNIPPETS) == ran
    assert len(re.findall(r"^```\w+$", PAGE, re.MULTILINE)) == len(SNIPPETS)


def test_sdk_over_rest(emulator: Running, run: Callable[..., str]) -> None:
    assert "['from-sdk']" in run(sys.executable, SNIPPETS["sdk-rest"])
    assert names(emulator, JOBS) == {"from-sdk"}


def test_sdk_over_grpc(emulator: Running, run: Callable[..., str]) -> None:
    text = "import os; os.environ['GRPC_DEFAULT_SSL_ROOTS_FILE_PATH'] = 'DIR/grpc-certificate.pem'\n"
    assert "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH=DIR/grpc-certificate.pem`, and then:" in PAGE

    assert "['from-sdk']" in run(sys.executable, text + SNIPPETS["sdk-grpc"])
    assert names(emulator, JOBS) == {"from-sdk"}


@pytest.mark.skipif(shutil.which("gcloud") is None, reason="gcloud is not installed")
def test_gcloud(emulator: Running, run: Callable[..., str]) -> None:
    assert "from-gcloud" in run("sh", SNIPPETS["gcloud"])
    assert names(emulator, JOBS) == {"from-gcloud"}


@pytest.mark.parametrize("tool", REQUESTS)
def test_requests_of_tools_with_a_fixed_endpoint(emulator: Running, run: Callable[..., str], tool: str) -> None:
    run(sys.executable, SNIPPETS["service-account"])

    run(sys.executable, CLIENT + REQUESTS[tool], "environment")

    assert names(emulator, PIPELINES if tool == "airflow" else JOBS) == {"made"}


@pytest.mark.parametrize("tool", REQUESTS)
def test_the_tools_themselves(emulator: Running, run: Callable[..., str], tool: str) -> None:
    python = Path(os.environ.get("TRAINBOARD_TEST_TOOLS", "")) / tool / "bin" / "python"
    if "TRAINBOARD_TEST_TOOLS" not in os.environ or not python.exists():
        pytest.skip("give a folder with the tool's environment in TRAINBOARD_TEST_TOOLS")
    run(sys.executable, SNIPPETS["service-account"])

    run(str(python), ZENML if tool == "zenml" else SNIPPETS[tool], "environment")

    made = "made" if tool == "zenml" else f"from-{tool}"
    assert any(name.startswith(made) for name in names(emulator, PIPELINES if tool == "airflow" else JOBS))
