"""Kubeflow's components that are run as custom jobs: the job that wraps them.

Source: google-cloud-pipeline-components 2, v1/custom_job/utils.py, read 2026-11-21.
"""

from jobs.convert.sdk.arguments import Arguments, pools_of_replicas
from jobs.convert.sdk.custom_jobs import custom_job
from jobs.convert.texts.nodes import Draft, Node, Notes

RENAMED = {"base_output_directory": "base_output_dir", "strategy": "scheduling_strategy"}


def job_of_component(args: Node, notes: Notes) -> Draft:
    """Return the job of `create_custom_training_job_from_component(component, ...)`; the image of it is a hole."""
    given = Arguments(Node({name: node for name, node in args.value.items() if node.value != ""}, args.line))
    if "accelerator_type" in given.entries:
        given.entries.setdefault("accelerator_count", Node(1, args.line))
    component = given.take("component_spec")
    name = component.text() if component is not None and component.is_scalar else "${component}"
    line = component.line if component is not None else args.line
    message = "The image and the command come from the component, which Trainboard does not run."
    notes.advise("component", line, message, "Give the image that the component is built on.")
    task = {"imageUri": Node("${component_image}", line)}
    if (env := given.take("env")) is not None:
        task["env"] = env
    mounts = given.take("nfs_mounts")
    pools = pools_of_replicas(given, task, args.line, notes)
    if mounts is not None and mounts.value:
        pools = Node([Node({**pool.value, "nfsMounts": mounts}, pool.line) for pool in pools.value], pools.line)
    rest = {RENAMED.get(key, key): node for key, node in given.rest().items()}
    rest.setdefault("display_name", Node(name, line))
    draft = custom_job(Node({**rest, "worker_pool_specs": pools}, args.line), None, notes)
    return draft._replace(form="Python that makes a CustomJob of a pipeline's component")
