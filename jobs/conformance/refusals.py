"""Requests that Vertex AI refuses. They cost nothing; should one be accepted, its job is cancelled at once."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from jobs import cost, spec, strategies
from jobs.conformance.claims import Check, Claim, Outcome, decide, unseen
from jobs.conformance.experiments import Experiment, custom_job
from jobs.conformance.lab import Lab, Planned, Site
from jobs.conformance.recording import Story
from jobs.vertex import wire

PROGRAM = "echo conformance begins; sleep 5"
TIMEOUT = 60
T4 = {"machineType": "n1-standard-4", "acceleratorType": "NVIDIA_TESLA_T4", "acceleratorCount": 1}
L4 = {"machineType": "g2-standard-4", "acceleratorType": "NVIDIA_L4", "acceleratorCount": 1}
SCARCE = ((T4, ""), (L4, ""), (T4, "SPOT"), (L4, "SPOT"))
"""Cheap machines of which a project may have no quota at all, and their strategies."""


def _create_each(lab: Lab, planned: Sequence[Planned]) -> Iterator[float]:
    for each, step in zip(planned, REFUSED, strict=True):
        if name := lab.create(each, step):
            lab.cancel(name)
            yield from lab.watch(name, limit=900)
        yield 1


def _with_pool(planned: Planned, **changes: Any) -> Planned:
    body = dict(planned.body)
    pools = body["jobSpec"]["workerPoolSpecs"]
    body["jobSpec"] = body["jobSpec"] | {"workerPoolSpecs": [pools[0] | changes]}
    return replace(planned, body=body, priced_as=planned.body)


def _bodies(site: Site) -> list[Planned]:
    usual = custom_job(site, "refusals", PROGRAM, timeout=TIMEOUT)
    job_spec = usual.body["jobSpec"]
    schedule = job_spec["scheduling"]
    return [
        _with_pool(usual, machineSpec={"machineType": "n1-standard-1"}),
        _with_pool(usual, machineSpec={"machineType": "n1-standard-4", "acceleratorType": "NVIDIA_TESLA_T4"}),
        _with_pool(usual, replicaCount="2"),
        replace(usual, body={**usual.body, "displayName": ""}, priced_as=usual.body),
        replace(usual, body={**usual.body, "trainboardUnknownField": 1}, priced_as=usual.body),
        replace(
            usual,
            body={**usual.body, "jobSpec": job_spec | {"scheduling": schedule | {"maxWaitDuration": "60s"}}},
            priced_as=usual.body,
        ),
        replace(
            usual,
            body={**usual.body, "jobSpec": job_spec | {"scheduling": schedule | {"strategy": "TRAINBOARD_UNKNOWN"}}},
            priced_as=usual.body,
        ),
    ]


REFUSED = (
    "unknown machine",
    "half an accelerator",
    "two chiefs",
    "no display name",
    "unknown field",
    "wait without Flex-start",
    "unknown enum value",
)


def _refused(step: str, *words: str) -> Check:
    def check(story: Story) -> Outcome:
        answer = story.call("customJobs.create", step)
        if answer is None:
            return unseen("The request was not sent.")
        status = wire.text(answer.error.get("status"))
        is_so = answer.status == 400 and status == "INVALID_ARGUMENT" and all(word in answer.message for word in words)
        return decide(is_so, f"{answer.status} {status} {answer.message}".strip())

    return check


REFUSALS = Experiment(
    name="refusals",
    title="Requests that are refused: machine types, accelerators, fields and values",
    plan=_bodies,
    steps=_create_each,
    claims=(
        Claim("unknown_machine", "A machine type that training does not offer: “Machine type "
              '"n1-standard-1" is not supported.”', "6.4", "recorded",
              _refused("unknown machine", 'Machine type "n1-standard-1" is not supported.')),
        Claim("half_accelerator", "An accelerator without its count is found with its snake_case path.", "6.4",
              "recorded", _refused("half an accelerator", "List of found errors:",
                                   "worker_pool_specs[0].machine_spec.accelerator_type", "or none.")),
        Claim("two_chiefs", "More than one replica in the first worker pool is refused.", "1.5", "documented",
              _refused("two chiefs")),
        Claim("no_display_name", "An empty display name is refused.", "1.3", "documented", _refused("no display name")),
        Claim("unknown_field", "An unknown field: “Invalid JSON payload received. Unknown name …: Cannot find field.”",
              "16.8", "recorded", _refused("unknown field", "Invalid JSON payload received.", "Cannot find field.")),
        Claim("wait_without_flex", "maxWaitDuration without FLEX_START is refused.", "16.6", "assumed",
              _refused("wait without Flex-start")),
        Claim("unknown_enum", "An unknown strategy is refused.", "1.8", "assumed", _refused("unknown enum value")),
    ),
)  # fmt: skip


# ---------------------------------------------------------------- quota
def _scarce_jobs(site: Site) -> list[Planned]:
    return [
        custom_job(site, "quota", PROGRAM, timeout=TIMEOUT, machine=machine,
                   scheduling={"strategy": strategy} if strategy else {})
        for machine, strategy in SCARCE
    ]  # fmt: skip


def _dearest(site: Site) -> list[Planned]:
    """Return the plan for the budget: one of the scarce machines, and the dearest is on demand."""
    return _scarce_jobs(site)[1:2]


def _create_over_quota(lab: Lab, planned: Sequence[Planned]) -> Iterator[float]:  # noqa: ARG001 - like all steps
    limits = lab.quota_limits()
    for each in _scarce_jobs(lab.site):
        read, _ = spec.read("custom_job", dict(each.body))
        if read is None:
            continue
        submission = spec.Submission(kind="custom_job", project="", region=lab.site.region, job=read)
        needed = cost.quotas(submission, strategies.strategy_of(submission))
        if any(quota.amount is not None and 0 <= limits.get(quota.metric, -1) < quota.amount for quota in needed):
            name = lab.create(each)
            yield 5
            lab.get(name) if name else None
            lab.cancel(name)
            yield from lab.watch(name, limit=900)
            return


def _quota_refusal(story: Story) -> Outcome:
    answer = story.call("customJobs.create")
    if answer is None:
        return unseen("The project has quota for each of the machines that could be tried.")
    words = f"{answer.status} {wire.text(answer.error.get('status'))} {answer.message}"
    text = "The following quota metrics exceed quota limits: aiplatform.googleapis.com/custom_model_training_"
    return decide(answer.status == 429 and text in answer.message, words)


QUOTA = Experiment(
    name="quota",
    title="A job that needs more quota than the project has",
    plan=_dearest,
    steps=_create_over_quota,
    claims=(
        Claim("quota_refusal", "Demand above the limit is refused with 429 and the names of the metrics.", "15.3",
              "assumed", _quota_refusal),
    ),
)  # fmt: skip
