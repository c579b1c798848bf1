"""Causes in quota, capacity, hardware, time limits, and Vertex AI itself."""

from functools import partial

from jobs.diagnosis.causes.sources import (
    CODES,
    COMPUTE_PAGE,
    FLEX_PAGE,
    GOOGLE,
    NOT_RETRIED,
    OBSERVED,
    SAMPLES,
    SERVICE_PAGE,
    SPOT_PAGE,
)
from jobs.diagnosis.diagnosis import Diagnosis
from jobs.texts import translatable as _

Cause = partial(Diagnosis, retried=NOT_RETRIED)

KNOWN = (
    Cause(
        "quota",
        _("Training quota is too small"),
        _("The job needs more than the project's training quota allows in this region."),
        _(
            "Ask for more quota in the Google Cloud console under IAM & Admin, Quotas; or take a smaller machine, "
            "another region, or wait until other jobs have ended."
        ),
        SAMPLES + "700 and 3479",
        ({"action": "request_quota"}, {"action": "other_region"}, {"action": "resubmit"}),
        retried=_(
            "Vertex AI does not retry a job that it refused for quota; a job that it keeps QUEUED starts by itself."
        ),
    ),
    Cause(
        "stockout",
        _("Out of capacity in the region"),
        _(
            "Google had no free machines of this kind. Quota is not the reason. Of a Spot job it can also mean that "
            "its machine was taken back more often than Vertex AI restarts it."
        ),
        _("Run it in another region, let Flex-start wait for machines, or choose another GPU."),
        f"{SERVICE_PAGE}; {SPOT_PAGE}",
        ({"action": "other_region"}, {"action": "flex_start"}, {"action": "other_accelerator"}),
        retried=_("Vertex AI had already tried it up to three times, or six times if it is a Spot job."),
    ),
    Cause(
        "flex_wait",
        _("Flex-start's wait ran out"),
        _(
            "Not all machines became free at once within scheduling.maxWaitDuration, so Vertex AI gave up the job "
            "before it started. Without that field the wait is 24 hours."
        ),
        _("Give it a longer maxWaitDuration, or 0 to wait without end; or choose another strategy or region."),
        FLEX_PAGE,
        (
            {"action": "longer_wait"},
            {"action": "endless_wait"},
            {"action": "spot"},
            {"action": "standard"},
            {"action": "other_region"},
        ),
        retried=_("Vertex AI kept looking for machines during the whole wait; it does not retry the job afterwards."),
    ),
    Cause(
        "preempted",
        _("The Spot machine was taken back"),
        _("Compute Engine wanted the Spot machine back."),
        _(
            "Save checkpoints often, handle SIGTERM in a shutdown script, or use elastic training; then run it again, "
            "or choose a strategy whose machines are not taken back."
        ),
        SPOT_PAGE,
        ({"action": "flex_start"}, {"action": "standard"}, {"action": "resubmit"}, {"action": "other_region"}),
        retried=_(
            "Vertex AI restarts a Spot job at most six times after it lost its machine or found none; with the seventh "
            "loss the job ends."
        ),
    ),
    Cause(
        "retries_exhausted",
        _("Vertex AI used up its restarts"),
        _("The job or a replica kept failing until no restart was left. The log has the reason for each failure."),
        _(
            "Read what the replica printed before its last end, correct that, and run it again; checkpoints keep what "
            "is done."
        ),
        SERVICE_PAGE,
        ({"action": "resubmit"},),
        retried=_("Vertex AI had restarted a replica up to five times and then the whole job up to three times."),
    ),
    Cause(
        "machine_lost",
        _("A machine failed or was taken away"),
        _("A machine stopped answering, was evicted or was put under maintenance. The program is not the reason."),
        _("Run it again; with checkpoints it goes on from the last one."),
        SERVICE_PAGE,
        ({"action": "resubmit"}, {"action": "other_region"}),
        retried=_("Vertex AI restarts such a replica up to five times and then the whole job up to three times."),
    ),
    Cause(
        "timeout",
        _("It ran out of time"),
        _("The job was still running when its timeout ended, so Vertex AI stopped it."),
        _("Give it a longer timeout, and save checkpoints so that the next run goes on from there."),
        GOOGLE + "REST reference, Scheduling.timeout, 2026-08-22",
        ({"action": "longer_timeout"},),
        retried=_("Vertex AI does not retry a job whose timeout has ended."),
    ),
    Cause(
        "out_of_memory",
        _("Out of memory"),
        _("It used more memory than its machine has."),
        _("Choose a machine with more memory. On small machines Vertex AI's own programs take up to 40 percent of it."),
        f"{SERVICE_PAGE}; {OBSERVED}",
        ({"action": "next_machine_size"},),
    ),
    Cause(
        "disk_full",
        _("The disk is full"),
        _("It ran out of disk space on its machine."),
        _("Choose a larger boot disk (diskSpec.bootDiskSizeGb), or write to Cloud Storage under /gcs/ instead."),
        "Python documentation: errno.ENOSPC",
        ({"action": "more_disk"},),
    ),
    Cause(
        "gpu_missing",
        _("The program found no GPU"),
        _(
            "The program wanted a GPU that it cannot see: the worker pool has none, or fewer than the program uses, or "
            "the image has no CUDA build of its framework."
        ),
        _(
            "Give the worker pool an accelerator, ask for no more GPUs than it has, and use an image with a CUDA build "
            "of the framework."
        ),
        COMPUTE_PAGE,
        (
            {"action": "other_machine"},
            {"action": "edit_field", "fields": ["machineSpec.acceleratorType", "containerSpec.imageUri"]},
        ),
    ),
    Cause(
        "gpu_driver",
        _("CUDA and the machine's driver do not match"),
        _("The image's CUDA or framework version does not work with the machine's NVIDIA driver or GPU."),
        _(
            "Build the image on a CUDA version that the driver supports and with a framework built for this GPU, or "
            "choose another GPU."
        ),
        "NVIDIA documentation: CUDA compatibility",
        ({"action": "edit_field", "fields": ["containerSpec.imageUri"]}, {"action": "other_accelerator"}),
    ),
    Cause(
        "gpu_fault",
        _("The GPU failed"),
        _("The GPU reported a fault of its hardware. The program is most likely fine."),
        _("Run it again; it most likely gets another machine."),
        "NVIDIA documentation: XID errors",
        ({"action": "resubmit"}, {"action": "other_region"}),
        retried=_("Vertex AI retries it only if the program ended with exit code 6, 11, 134 or 139."),
    ),
    Cause(
        "tpu_in_use",
        _("The TPU is already in use"),
        _("Another process on the same machine holds the TPU; one process at a time can use its chips."),
        _(
            "Start one process per TPU host, do not open the TPU before the program forks, end processes that an "
            "earlier start left behind, and remove /tmp/libtpu_lockfile if none runs."
        ),
        "jax-ml/jax, issue 10192",
        ({"action": "resubmit"},),
    ),
    Cause(
        "tpu_setup",
        _("The TPU could not be initialized"),
        _("The program found no TPU, has a libtpu that does not fit it, or expects another topology than the job has."),
        _(
            "Install the libtpu that belongs to the framework's version, check machine type and tpuTopology, and start "
            "the program on all hosts of a TPU Pod."
        ),
        GOOGLE + "Training with TPUs, 2026-08-22",
        ({"action": "edit_field", "fields": ["machineSpec.tpuTopology", "containerSpec.imageUri"]},),
    ),
    Cause(
        "internal",
        _("Internal error at Vertex AI"),
        _("Something failed inside Vertex AI. The job itself is most likely fine."),
        _("Run it again. If it fails twice more, contact Google's support with the job's ID."),
        SERVICE_PAGE,
        ({"action": "resubmit"},),
        retried=_("Vertex AI had already tried it three times."),
    ),
    Cause(
        "unavailable",
        _("Vertex AI was not available"),
        _("A part of Vertex AI did not answer."),
        _("Run it again after a few minutes."),
        CODES,
        ({"action": "resubmit"},),
        retried=_(
            "Trainboard repeats requests that are not answered; Vertex AI does not retry a job that ended with this."
        ),
    ),
    Cause(
        "resources",
        _("Quota, capacity or memory ran short"),
        _("Vertex AI says only that resources were exhausted, which it says of all three."),
        _("Look at the job's log and at the project's quotas, then try another region or a larger machine."),
        CODES,
        ({"action": "other_region"}, {"action": "next_machine_size"}),
        retried=_("If it was for lack of machines, Vertex AI had already tried it three times."),
    ),
    Cause(
        "cancelled",
        "Cancelled",
        _("Somebody cancelled the job."),
        _("Nothing is wrong with it; run it again when you like."),
        "google-cloud-aiplatform 2.7.0, JobService.CancelCustomJob",
        ({"action": "resubmit"},),
        retried=_("Vertex AI does not retry a cancelled job."),
    ),
    Cause(
        "unknown",
        _("A reason that Trainboard does not know"),
        "",
        _("Read the end of the job's log. Google's support can find out more with the job's ID."),
        CODES,
        retried="",
    ),
)
