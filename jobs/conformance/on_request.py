"""Experiments that cost more or need quota that not every project has; each runs only if it is asked for."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from jobs.conformance.claims import Claim, Outcome, decide, unseen
from jobs.conformance.experiments import Experiment, custom_job, pool, run_to_the_end
from jobs.conformance.lab import LABEL, RESOURCE, Lab, Planned, Site
from jobs.conformance.recording import Story, seconds, state_of, time_in
from jobs.conformance.refusals import L4, T4
from jobs.conformance.runs import CREATE_ANSWER, PROVISIONAL_START, SETTLED_START, attempts, settled
from jobs.spec import CUSTOM_TASK
from jobs.vertex import wire

TUNING, PIPELINE = "hyperparameter_tuning_job", "training_pipeline"
TUNING_JOBS, PIPELINES = "hyperparameterTuningJobs", "trainingPipelines"
MAX_SPOT_RUNS = 7
MAX_WAIT = 120
"""Seconds that the Flex-start job waits for a machine."""
RESOURCE_SECONDS = 3_600
"""The most that a persistent resource is kept: until it runs, one job, and its deletion."""


# ---------------------------------------------------------------- Spot
def _preempted(story: Story) -> bool:
    return len(attempts(story)) > 1 and "RUNNING" in story.states()


def _after_preemption(story: Story) -> Outcome:
    if not _preempted(story):
        return unseen("The job was not preempted.")
    states = story.states()
    later = states[states.index("RUNNING") + 1 :]
    return decide("PENDING" in later, f"The states are {', '.join(states)}.")


def _start_after_preemption(story: Story) -> Outcome:
    ran = story.first("RUNNING")
    if ran is None or not _preempted(story):
        return unseen("The job was not preempted.")
    starts = list(dict.fromkeys(str(poll.body.get("startTime")) for poll in story.polls() if poll.at >= ran.at))
    return decide(len(starts) == 1, f"startTime from the first RUNNING on: {', '.join(starts)}.")


SPOT = Experiment(
    name="spot",
    title="A Spot job of ten minutes",
    group="spot",
    plan=lambda site: [
        custom_job(site, "spot", "echo conformance begins; sleep 600", timeout=1_800, runs=MAX_SPOT_RUNS,
                   scheduling={"strategy": "SPOT"})
    ],
    steps=run_to_the_end,
    claims=(
        CREATE_ANSWER,
        PROVISIONAL_START,
        Claim("after_preemption", "A preempted job goes back to PENDING.", "17, not known", "assumed",
              _after_preemption),
        Claim("start_after_preemption", "startTime stays that of the first run after a preemption.", "17, not known",
              "assumed", _start_after_preemption),
    ),
)  # fmt: skip


# ---------------------------------------------------------------- Flex-start
def _waits_in(story: Story) -> Outcome:
    if "RUNNING" in story.states():
        return unseen("It got a machine at once.")
    polls = [poll for poll in story.polls() if state_of(poll) in ("QUEUED", "PENDING")]
    if not polls:
        return unseen("The job was not seen waiting.")
    return decide(state_of(polls[-1]) == "PENDING", f"The states are {', '.join(story.states())}.")


def _end_of_wait(story: Story) -> Outcome:
    if "RUNNING" in story.states():
        return unseen("It got a machine before its wait was over.")
    end = story.first("FAILED", "EXPIRED", "CANCELLED")
    if end is None:
        return unseen("The end was not seen.")
    error = dict(wire.mapping(end.body.get("error")))
    is_so = state_of(end) == "FAILED" and "Resources are insufficient in region" in str(error.get("message"))
    return decide(is_so, f"{state_of(end)} with error {error}.")


def _start_after_wait(story: Story) -> Outcome:
    end = story.first("FAILED", "EXPIRED", "CANCELLED")
    if end is None or "RUNNING" in story.states():
        return unseen("The wait did not run out.")
    is_so = not settled(time_in(end, "startTime"), time_in(end, "createTime"))
    return decide(is_so, f"startTime {end.body.get('startTime')}, createTime {end.body.get('createTime')}.")


def _flex_start_job(site: Site) -> list[Planned]:
    """Return the job. If the price of Flex-start is not known, the higher one of Standard counts."""
    program, schedule = (
        "echo conformance begins; sleep 10",
        {"strategy": "FLEX_START", "maxWaitDuration": f"{MAX_WAIT}s"},
    )
    usual = custom_job(site, "flex-start", program, timeout=300, machine=L4)
    flex = custom_job(site, "flex-start", program, timeout=300, machine=L4, scheduling=schedule)
    return [replace(flex, priced_as=usual.body)]


FLEX_START = Experiment(
    name="flex-start",
    title=f"A Flex-start job with an L4 that waits for at most {MAX_WAIT} s",
    group="flex-start",
    plan=_flex_start_job,
    steps=run_to_the_end,
    claims=(
        Claim("flex_waits", "A Flex-start job waits in PENDING.", "17, not known", "assumed", _waits_in),
        Claim("flex_end", "When maxWaitDuration is over it ends FAILED with the stockout text.", "17, not known",
              "assumed", _end_of_wait),
        Claim("flex_start_time", "A job whose wait ran out has no settled startTime.", "17, not known", "assumed",
              _start_after_wait),
    ),
)  # fmt: skip


# ---------------------------------------------------------------- tuning job
def _tuning_job(site: Site) -> list[Planned]:
    program = "echo conformance begins; sleep 5"
    trial = custom_job(site, "tuning", program, timeout=300).body["jobSpec"]
    body = {
        "displayName": site.name("tuning"),
        "labels": {LABEL: site.run},
        "maxTrialCount": 2,
        "parallelTrialCount": 1,
        "maxFailedTrialCount": 2,
        "studySpec": {
            "metrics": [{"metricId": "loss", "goal": "MINIMIZE"}],
            "parameters": [{"parameterId": "rate", "doubleValueSpec": {"minValue": 0.1, "maxValue": 1.0}}],
        },
        "trialJobSpec": trial,
    }
    return [Planned(TUNING, body, 300, runs=8)]  # two trials, each with the retries of a job


def _run_tuning(lab: Lab, planned: Sequence[Planned]) -> Iterator[float]:
    name = lab.create(planned[0])
    yield from lab.watch(name, kind=TUNING)
    if name:
        lab.list("list", kind=TUNING)


def _study_start(story: Story) -> Outcome:
    shown = next((poll for poll in story.polls(TUNING_JOBS) if "startTime" in poll.body), None)
    start, created = time_in(shown, "startTime"), time_in(shown, "createTime")
    if shown is None or start is None or created is None:
        return unseen("No poll shows a startTime.")
    after = start - created
    return decide(timedelta() < after < timedelta(seconds=3), f"startTime is createTime + {seconds(after)}.")


def _trials(story: Story) -> list[Mapping[str, Any]]:
    last = story.polls(TUNING_JOBS)[-1:]
    listed = last[0].body.get("trials") if last else None
    return [wire.mapping(each) for each in listed] if isinstance(listed, list) else []


def _trial_times(story: Story) -> Outcome:
    trials = [each for each in _trials(story) if each.get("startTime") and each.get("endTime")]
    if not trials:
        return unseen("No trial has both times.")
    digits = [(_digits(each, "startTime"), _digits(each, "endTime")) for each in trials]
    return decide(all(each == (9, 0) for each in digits), f"Digits of startTime and endTime: {digits}.")


def _digits(trial: Mapping[str, Any], name: str) -> int:
    return len(wire.text(trial.get(name)).partition(".")[2].rstrip("Z"))


def _first_trial(story: Story) -> Outcome:
    made = story.call(f"{TUNING_JOBS}.create")
    starts = [start for each in _trials(story) if (start := wire.moment(each.get("startTime"))) is not None]
    created = time_in(made, "createTime")
    if created is None or not starts:
        return unseen("No trial has a startTime.")
    after = (min(starts) - created).total_seconds()
    return decide(after > 30, f"The first trial starts {after:.0f} s after createTime.")


def _list_without_trials(story: Story) -> Outcome:
    answer = story.call(f"{TUNING_JOBS}.list", "list")
    bodies = [] if answer is None else answer.job_bodies
    return unseen("It was not listed.") if not bodies else decide("trials" not in bodies[0], "The list has no trials.")


def _tuning_queued(story: Story) -> Outcome:
    after = story.states(TUNING_JOBS)[1:]
    if not after:
        return unseen("There is no poll after the create.")
    return decide(after[0] == "QUEUED", f"The states are {', '.join(story.states(TUNING_JOBS))}.")


TUNING_JOB = Experiment(
    name="tuning",
    title="A tuning job with two trials in sequence",
    group="tuning",
    plan=_tuning_job,
    steps=_run_tuning,
    claims=(
        Claim("tuning_queued", "A tuning job is QUEUED first after the create.", "17.1", "recorded", _tuning_queued,
              is_timed=True),
        Claim("study_start", "startTime of a tuning job is the study's, at most about 2 s after createTime.", "17.5",
              "recorded", _study_start),
        Claim("trial_times", "A trial's startTime has nine digits and its endTime is a whole second.", "17.5",
              "recorded", _trial_times),
        Claim("first_trial", "The first trial starts minutes after the tuning job.", "17.5", "recorded", _first_trial,
              is_timed=True),
        Claim("list_without_trials", "A list leaves out the trials.", "2.1", "documented", _list_without_trials),
    ),
)  # fmt: skip


# ---------------------------------------------------------------- pipeline
def _pipeline(site: Site) -> list[Planned]:
    inputs = custom_job(site, "pipeline", "echo conformance begins; sleep 5", timeout=300).body["jobSpec"]
    body = {
        "displayName": site.name("pipeline"),
        "labels": {LABEL: site.run},
        "trainingTaskDefinition": CUSTOM_TASK,
        "trainingTaskInputs": inputs,
    }
    return [Planned(PIPELINE, body, 300)]


def _run_pipeline(lab: Lab, planned: Sequence[Planned]) -> Iterator[float]:
    name = lab.create(planned[0])
    yield from lab.watch(name, kind=PIPELINE)


def _pipeline_runs_at_once(story: Story) -> Outcome:
    running = story.first("RUNNING", kind=PIPELINES)
    made = story.call(f"{PIPELINES}.create")
    if made is None or running is None:
        return unseen("RUNNING was not seen.")
    after = (running.at - made.at).total_seconds()
    return decide(after < 3, f"RUNNING {after:.1f} s after the create; states {', '.join(story.states(PIPELINES))}.")


def _pipeline_start(story: Story) -> Outcome:
    shown = [poll for poll in story.polls(PIPELINES) if "startTime" in poll.body]
    if not shown:
        return unseen("No poll shows a startTime.")
    start, created = time_in(shown[0], "startTime"), time_in(shown[0], "createTime")
    if start is None or created is None:
        return unseen("A time is missing.")
    after, starts = (start - created).total_seconds(), {str(poll.body["startTime"]) for poll in shown}
    is_so = 0.2 <= after <= 0.3 and len(starts) == 1
    return decide(is_so, f"startTime is createTime + {after:.3f} s; {len(starts)} different values.")


def _backing_job(story: Story) -> Outcome:
    named = [wire.mapping(poll.body.get("trainingTaskMetadata")).get("backingCustomJob")
             for poll in story.polls(PIPELINES)]  # fmt: skip
    found = [name for name in named if name]
    if not story.polls(PIPELINES):
        return unseen("The pipeline was not created.")
    return decide(bool(found), f"backingCustomJob in {len(found)} of {len(named)} answers.")


TRAINING_PIPELINE = Experiment(
    name="pipeline",
    title="A training pipeline with a custom task",
    group="pipeline",
    plan=_pipeline,
    steps=_run_pipeline,
    claims=(
        Claim("pipeline_running", "A pipeline is RUNNING at once.", "17.6", "recorded", _pipeline_runs_at_once),
        Claim("pipeline_start", "startTime of a pipeline is createTime + 0.23 to 0.27 s and never changes.", "17.6",
              "recorded", _pipeline_start),
        Claim("backing_job", "trainingTaskMetadata names the backing custom job.", "3, not known", "assumed",
              _backing_job),
    ),
)  # fmt: skip


# ---------------------------------------------------------------- persistent resource and GPU
def _resource_and_job(site: Site) -> list[Planned]:
    machine = {"machineType": "n1-standard-4"}
    disk = {"bootDiskType": "pd-ssd", "bootDiskSizeGb": 100}
    body = {
        "displayName": site.name("resource"),
        "labels": {LABEL: site.run},
        "resourcePools": [{"machineSpec": machine, "replicaCount": "1", "diskSpec": disk}],
    }
    same = {"displayName": "price", "jobSpec": {"workerPoolSpecs": [pool(site, "true", machine)]}}
    name = site.name("persistent-resource")
    job = custom_job(
        site, "persistent-resource", "echo conformance begins; sleep 10", timeout=300, machine=machine,
        more={"persistentResourceId": name},
    )  # fmt: skip
    return [Planned(RESOURCE, body, RESOURCE_SECONDS, priced_as=same), job]


def _run_on_resource(lab: Lab, planned: Sequence[Planned]) -> Iterator[float]:
    name, began = lab.create(planned[0], "create the resource"), lab.now
    while (lab.now - began).total_seconds() < RESOURCE_SECONDS / 2:
        yield 10
        resource = lab.resource(name)
        if resource is not None and resource.state not in ("PROVISIONING", "STATE_UNSPECIFIED"):
            break
    job_began = lab.now
    job = lab.create(planned[1])
    yield from lab.watch(job, limit=900)
    yield from lab.read_log([job], job_began)


def _pool_id(story: Story) -> Outcome:
    shown = [each for each in story.calls("persistentResources.get") if each.status == 200]
    pools = shown[-1].body.get("resourcePools") if shown else None
    if not isinstance(pools, list) or not pools:
        return unseen("The persistent resource was not seen.")
    return decide(wire.mapping(pools[0]).get("id") == "n1-standard-4", f"The id is {wire.mapping(pools[0]).get('id')}.")


def _runs_quickly(story: Story) -> Outcome:
    ran, made = story.first("RUNNING", "SUCCEEDED"), story.call("customJobs.create")
    if ran is None or made is None:
        return unseen("The job did not run.")
    after = (ran.at - made.at).total_seconds()
    return decide(after < 90, f"It runs {after:.0f} s after the create.")


PERSISTENT_RESOURCE = Experiment(
    name="persistent-resource",
    title="A persistent resource with one machine and a job on it",
    group="persistent-resource",
    plan=_resource_and_job,
    steps=_run_on_resource,
    claims=(
        Claim("pool_id", "The id of its single resource pool is the machine type.", "17.12", "recorded", _pool_id),
        Claim("runs_quickly", "A job on free machines runs within 90 s.", "17, not known", "assumed", _runs_quickly),
        SETTLED_START,
    ),
)  # fmt: skip
GPU = Experiment(
    name="gpu",
    title="A job with one T4",
    group="gpu",
    plan=lambda site: [custom_job(site, "gpu", "echo conformance begins; sleep 10", timeout=300, machine=T4)],
    steps=run_to_the_end,
    claims=(
        CREATE_ANSWER,
        PROVISIONAL_START,
        SETTLED_START,
    ),
)  # fmt: skip
