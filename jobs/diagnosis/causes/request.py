"""Causes in the job's own fields, and in the way a request was made."""

from functools import partial

from jobs.diagnosis.causes.sources import (
    CODES,
    COMPUTE_PAGE,
    FLEX_PAGE,
    GOOGLE,
    NOT_RETRIED,
    POOL_PAGE,
    REFUSED,
    SAMPLES,
    SPOT_PAGE,
    TROUBLE_PAGE,
)
from jobs.diagnosis.diagnosis import Diagnosis
from jobs.texts import translatable as _

Cause = partial(Diagnosis, retried=REFUSED)

KNOWN = (
    Cause(
        "unknown_field",
        _("The job has a field that Vertex AI lacks"),
        _("Vertex AI does not know a field of the job: its name is misspelled or it is in the wrong place."),
        _("Correct the name or move the field; strategy, for example, belongs under jobSpec.scheduling."),
        GOOGLE + "REST reference, projects.locations.customJobs, 2026-08-22",
        ({"action": "edit_field", "fields": []},),
    ),
    Cause(
        "validation",
        _("Vertex AI found errors in the job"),
        _("It refused the job before anything was started."),
        _("Correct the fields that the message names."),
        "PrefectHQ/prefect-gcp, issue 175",
        ({"action": "edit_field", "fields": []},),
    ),
    Cause(
        "invalid_value",
        _("A value of the job is not valid"),
        _("Vertex AI does not accept a value of the job."),
        _("Correct the value that the message names; the form checks the job again before it is sent."),
        CODES,
        ({"action": "edit_field", "fields": []},),
    ),
    Cause(
        "not_found",
        _("Something that the job names does not exist"),
        _("Vertex AI did not find a resource that the job names, in this project and region."),
        _("Check the name in the message, and that it is in the same project and region as the job."),
        CODES,
        ({"action": "edit_field", "fields": []},),
    ),
    Cause(
        "persistent_resource_missing",
        _("The persistent resource does not exist"),
        _("There is no persistent resource of this ID in the job's project and region, or it was deleted."),
        _("Correct persistentResourceId, or let the job run on machines of its own."),
        POOL_PAGE,
        ({"action": "own_machines"}, {"action": "edit_field", "fields": ["jobSpec.persistentResourceId"]}),
    ),
    Cause(
        "persistent_resource_unfit",
        _("The persistent resource does not fit"),
        _(
            "The machine, accelerator, disk or number of replicas of a worker pool matches no resource pool of the "
            "persistent resource."
        ),
        _(
            "Give each worker pool exactly the machineSpec and diskSpec of a resource pool and no more replicas than "
            "it has, or let the job run on machines of its own."
        ),
        POOL_PAGE,
        ({"action": "own_machines"}, {"action": "edit_field", "fields": ["workerPoolSpecs.machineSpec"]}),
    ),
    Cause(
        "persistent_resource_not_ready",
        _("The persistent resource is not running"),
        _("A persistent resource takes jobs only while its state is RUNNING."),
        _("Wait until it runs, then run the job again; or let the job run on machines of its own."),
        POOL_PAGE,
        ({"action": "resubmit"}, {"action": "own_machines"}),
    ),
    Cause(
        "reservation",
        _("The reservation cannot be used"),
        _("The reservation does not exist, is not shared with Vertex AI, is used up, or does not match the machine."),
        _(
            "Check that it is shared with this project and with Vertex AI, is in the job's region, and has exactly the "
            "job's machine type and accelerators."
        ),
        GOOGLE + "Use reservations with training, 2026-08-22",
        ({"action": "edit_field", "fields": ["machineSpec.reservationAffinity"]}, {"action": "flex_start"}),
        retried=NOT_RETRIED,
    ),
    Cause(
        "strategy_unfit",
        _("The strategy does not fit the job"),
        _(
            "Vertex AI does not offer this scheduling strategy together with other fields of the job: Flex-start has a "
            "fixed list of GPUs, runs at most seven days and knows maxWaitDuration, and Spot does not serve TPU Pods."
        ),
        _("Choose another strategy, or another machine for this one."),
        f"{FLEX_PAGE}; {SPOT_PAGE}",
        ({"action": "standard"}, {"action": "other_machine"}),
    ),
    Cause(
        "machine_not_supported",
        _("The machine is not offered for training"),
        _("Vertex AI does not train on this machine type, or not with this accelerator or in this region."),
        _("Choose another machine type. The form offers only those that can be used."),
        f"{TROUBLE_PAGE}; {COMPUTE_PAGE}; {SAMPLES}213",
        ({"action": "other_machine"}, {"action": "other_region"}),
    ),
    Cause(
        "region_not_supported",
        _("The region cannot be used"),
        _("Vertex AI does not train in this region, or the request went to the address of another region."),
        _("Run the job in a region that Vertex AI trains in."),
        GOOGLE + "Vertex AI locations, 2026-08-22",
        ({"action": "other_region"},),
    ),
    Cause(
        "package_missing",
        _("The Python package cannot be read"),
        _("The package that the job names in Cloud Storage does not exist, or may not be read."),
        _("Upload the package again and correct pythonPackageSpec.packageUris."),
        GOOGLE + "Create a Python training application for a prebuilt container, 2026-08-22",
        ({"action": "edit_field", "fields": ["pythonPackageSpec.packageUris"]},),
        retried=NOT_RETRIED,
    ),
    Cause(
        "trial_without_metric",
        _("A trial reported no metric"),
        _(
            "The training program ended without reporting the metric that the tuning job optimizes, or reported it "
            "under another name or as NaN."
        ),
        _(
            "Report it with cloudml-hypertune under exactly the metricId of the study, at least once before the "
            "program ends, and never as NaN."
        ),
        GOOGLE + "Hyperparameter tuning: report your metric, 2026-08-22",
        ({"action": "edit_field", "fields": ["studySpec.metrics"]},),
        retried=NOT_RETRIED,
    ),
    Cause(
        "trials_failed",
        _("Too many trials failed"),
        _("The tuning job ended because its trials failed. The log of a failed trial has the reason."),
        _("Read the end of a failed trial's log and correct the program, or the range of the parameters that fail."),
        GOOGLE + "REST reference, HyperparameterTuningJob.maxFailedTrialCount, 2026-08-22",
        ({"action": "edit_field", "fields": ["maxFailedTrialCount", "studySpec.parameters"]},),
        retried=_(
            "Vertex AI goes on with other trials until maxFailedTrialCount is reached; by default it ends when the "
            "first trials all fail."
        ),
    ),
    Cause(
        "conflict",
        _("Another change was under way"),
        _("It already exists, or something else changed it at the same time."),
        _("Check whether it already exists; if not, run the job again after a minute."),
        CODES,
        ({"action": "resubmit"},),
    ),
    Cause(
        "rate_limit",
        _("Too many requests in a minute"),
        _("The project sent more requests than its quota of requests per minute allows. Machines are not the reason."),
        _("Run it again after a minute; ask for more of this quota if it happens often."),
        GOOGLE + "Vertex AI quotas and limits, 2026-08-22",
        ({"action": "resubmit"},),
        retried=_(
            "Trainboard repeats requests that are refused for this reason; a job that carries it as its error was not "
            "retried."
        ),
    ),
)
