"""CustomJob and the CustomJobSpec that every kind of training shares.

Source: google-cloud-aiplatform 2.7.0, types/custom_job.py and types/job_state.py, read 2026-11-21.
"""

from typing import Annotated

from jobs.spec.fields import OUTPUT, Duration, Flag, Message, Moment, Text, enum
from jobs.spec.worker_pool import EncryptionSpec, PscInterfaceConfig, Status, WorkerPoolSpec

SCHEDULING_STRATEGIES = enum(STRATEGY_UNSPECIFIED=0, ON_DEMAND=1, LOW_COST=2, STANDARD=3, SPOT=4, FLEX_START=6)
JOB_STATES = enum(
    *(
        f"JOB_STATE_{name}"
        for name in (
            "UNSPECIFIED QUEUED PENDING RUNNING SUCCEEDED FAILED CANCELLING CANCELLED PAUSED EXPIRED UPDATING "
            "PARTIALLY_SUCCEEDED"
        ).split()
    )
)


class GcsDestination(Message):
    """A folder in Cloud Storage."""

    output_uri_prefix: Text = ""


class Scheduling(Message):
    """The time a job may run and wait, and how its machines are provisioned.

    No `timeout` means seven days. `max_wait_duration` is for FLEX_START only: absent means one day, zero means no
    limit.
    """

    timeout: Duration | None = None
    restart_job_on_worker_restart: Flag = False
    strategy: Annotated[str, *SCHEDULING_STRATEGIES] = "STRATEGY_UNSPECIFIED"
    disable_retries: Flag = False
    max_wait_duration: Duration | None = None


class CustomJobSpec(Message):
    """The worker pools, scheduling, service account, network and outputs of a job."""

    persistent_resource_id: Text = ""
    worker_pool_specs: tuple[WorkerPoolSpec, ...] = ()
    scheduling: Scheduling = Scheduling()
    service_account: Text = ""
    network: Text = ""
    reserved_ip_ranges: tuple[Text, ...] = ()
    psc_interface_config: PscInterfaceConfig | None = None
    base_output_directory: GcsDestination = GcsDestination()
    protected_artifact_location_id: Text = ""
    tensorboard: Text = ""
    enable_web_access: Flag = False
    enable_dashboard_access: Flag = False
    experiment: Text = ""
    experiment_run: Text = ""
    models: tuple[Text, ...] = ()


class CustomJob(Message):
    """One run of a CustomJobSpec."""

    name: Annotated[Text, OUTPUT] = ""
    display_name: Text = ""
    job_spec: CustomJobSpec = CustomJobSpec()
    state: Annotated[str, *JOB_STATES, OUTPUT] = "JOB_STATE_UNSPECIFIED"
    create_time: Annotated[Moment | None, OUTPUT] = None
    start_time: Annotated[Moment | None, OUTPUT] = None
    end_time: Annotated[Moment | None, OUTPUT] = None
    update_time: Annotated[Moment | None, OUTPUT] = None
    error: Annotated[Status | None, OUTPUT] = None
    labels: dict[Text, Text] = {}
    encryption_spec: EncryptionSpec | None = None
    web_access_uris: Annotated[dict[Text, Text], OUTPUT] = {}
    satisfies_pzs: Annotated[Flag, OUTPUT] = False
    satisfies_pzi: Annotated[Flag, OUTPUT] = False
