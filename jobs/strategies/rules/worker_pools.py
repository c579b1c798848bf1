"""Rules about worker pools: their number, which may be empty, and what each must run."""

from collections.abc import Iterator

from jobs.catalog import machine
from jobs.spec import Severity, Submission
from jobs.strategies.base import Problem, rule
from jobs.strategies.sources import API, DISTRIBUTED, GCLOUD
from jobs.texts import translatable as _

MAX_POOLS = 4
EVALUATORS = 3
REDUCTION_SERVER = "/vertex-ai-restricted/training/reductionserver"


@rule(Severity.ERROR, API)
def pools_are_given(submission: Submission) -> Iterator[Problem]:
    """A job has at least one worker pool."""
    if not submission.pools:
        yield Problem(
            submission.spec_field("workerPoolSpecs"),
            _("The job has no worker pool, so nothing would run."),
            _("Give at least one pool with a machine and a container or Python package."),
        )


@rule(Severity.ERROR, GCLOUD)
def first_pool_is_used(submission: Submission) -> Iterator[Problem]:
    """The first worker pool is not empty: it is the primary replica."""
    pools = submission.pools
    if pools and pools[0][0] != 0:
        yield Problem(
            submission.pool_path(0),
            _("The first worker pool is empty, but it holds the primary replica."),
            _("Move the primary replica to pool 0; only later pools may be skipped with {}."),
        )


@rule(Severity.ERROR, DISTRIBUTED)
def first_pool_has_one_replica(submission: Submission) -> Iterator[Problem]:
    """The first worker pool has exactly one replica."""
    for index, pool in submission.pools[:1]:
        found = machine(pool.machine_spec.machine_type)
        is_tpu = found is not None and found.is_tpu  # `tpu_pools_have_one_replica` covers TPUs
        if index == 0 and pool.replicas > 1 and not is_tpu:
            yield Problem(
                submission.pool_path(0, "replicaCount"),
                _("Worker pool 0 must have exactly one replica, not %(count)s.", count=pool.replicas),
                _("Set it to 1 and put the other %(others)s into worker pool 1.", others=pool.replicas - 1),
            )


@rule(Severity.ERROR, DISTRIBUTED)
def pools_are_at_most_four(submission: Submission) -> Iterator[Problem]:
    """A job has at most four worker pools."""
    count = len(submission.job_spec.worker_pool_specs)
    if count > MAX_POOLS:
        yield Problem(
            submission.pool_path(MAX_POOLS),
            _(
                "A job has at most %(limit)s worker pools, not %(count)s: primary, workers, servers, evaluators.",
                limit=MAX_POOLS,
                count=count,
            ),
            _("Merge pools of the same machine by raising replicaCount."),
        )


@rule(Severity.ERROR, API)
def replicas_are_at_least_one(submission: Submission) -> Iterator[Problem]:
    """A pool that asks for machines has at least one replica."""
    for index, pool in submission.pools:
        if pool.replicas < 1:
            yield Problem(
                submission.pool_path(index, "replicaCount"),
                _("Worker pool %(index)s has %(count)s replicas.", index=index, count=pool.replicas),
                _("Set 1 or more, or skip the role with an empty pool {}."),
            )


@rule(Severity.NOTE, GCLOUD)
def replica_count_is_given(submission: Submission) -> Iterator[Problem]:
    """An omitted replica count means one."""
    for index, pool in submission.pools:
        if pool.replica_count is None:
            yield Problem(
                submission.pool_path(index, "replicaCount"),
                _("Worker pool %(index)s gives no replicaCount; it is read as 1.", index=index),
                _("Write replicaCount: 1 to say so."),
            )


@rule(Severity.ERROR, API)
def pools_run_one_task(submission: Submission) -> Iterator[Problem]:
    """A pool runs a container or a Python package, not both and not neither."""
    for index, pool in submission.pools:
        container, package = pool.container_spec is not None, pool.python_package_spec is not None
        if container == package:
            message = _("Worker pool %(index)s has neither containerSpec nor pythonPackageSpec.", index=index)
            remedy = _("Add a containerSpec with an imageUri, or a pythonPackageSpec.")
            if container:
                message = _("Worker pool %(index)s has both containerSpec and pythonPackageSpec.", index=index)
                remedy = _("Remove one of them.")
            yield Problem(submission.pool_path(index), message, remedy)


@rule(Severity.NOTE, DISTRIBUTED)
def evaluators_are_one(submission: Submission) -> Iterator[Problem]:
    """The fourth pool holds TensorFlow's evaluator, of which there is one."""
    for index, pool in submission.pools:
        if index == EVALUATORS and pool.replicas > 1:
            yield Problem(
                submission.pool_path(index, "replicaCount"),
                _(
                    "Worker pool 3 is the evaluator of TensorFlow, which expects one, not %(count)s.",
                    count=pool.replicas,
                ),
                _("Set it to 1 unless your code divides the work itself."),
            )


def _reduction_servers(submission: Submission) -> Iterator[int]:
    for index, pool in submission.pools:
        if pool.container_spec is not None and REDUCTION_SERVER in pool.container_spec.image_uri:
            yield index


@rule(Severity.NOTE, DISTRIBUTED)
def reduction_servers_have_no_gpus(submission: Submission) -> Iterator[Problem]:
    """Reduction Server runs on machines without GPUs."""
    for index in _reduction_servers(submission):
        if dict(submission.pools)[index].machine_spec.accelerator:
            yield Problem(
                submission.pool_path(index, "machineSpec.acceleratorType"),
                _("Reduction Server makes no use of GPUs."),
                _("Use n1-highcpu-16 without an accelerator."),
            )


@rule(Severity.ERROR, DISTRIBUTED)
def reduction_servers_are_in_the_third_pool(submission: Submission) -> Iterator[Problem]:
    """Reduction Server runs in the third pool; in another one it takes the place of a worker, which never answers."""
    for index in _reduction_servers(submission):
        if index != 2:
            yield Problem(
                submission.pool_path(index),
                _("Reduction Server belongs in worker pool 2, not %(index)s.", index=index),
                _("Move it, and skip unused pools with {}."),
            )


RULES = (
    pools_are_given,
    first_pool_is_used,
    first_pool_has_one_replica,
    pools_are_at_most_four,
    replicas_are_at_least_one,
    replica_count_is_given,
    pools_run_one_task,
    evaluators_are_one,
    reduction_servers_have_no_gpus,
    reduction_servers_are_in_the_third_pool,
)
