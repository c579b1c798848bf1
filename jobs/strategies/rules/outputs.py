"""Rules about where a job writes: its output directory, TensorBoard and experiment."""

import re
from collections.abc import Iterator

from jobs.spec import Severity, Submission
from jobs.strategies.base import Problem, rule
from jobs.strategies.rules.addresses import FOLDER, Name, name_problem, storage_problem
from jobs.strategies.sources import API, TENSORBOARD
from jobs.texts import translatable as _

TENSORBOARD_NAME = Name(
    re.compile(r"projects/[^/]+/locations/[^/]+/tensorboards/[^/]+"),
    "projects/P/locations/R/tensorboards/ID",
    _("TensorBoard's name"),
)
EXPERIMENT = Name(
    re.compile(r"projects/[^/]+/locations/[^/]+/metadataStores/[^/]+/contexts/[^/]+"),
    "projects/P/locations/R/metadataStores/default/contexts/NAME",
    _("experiment's name"),
)
RUN = EXPERIMENT._replace(what=_("run's name"))


@rule(Severity.ERROR, API)
def output_is_in_cloud_storage(submission: Submission) -> Iterator[Problem]:
    """The base output directory is a folder in Cloud Storage."""
    field = submission.spec_field("baseOutputDirectory.outputUriPrefix")
    prefix = submission.job_spec.base_output_directory.output_uri_prefix
    if prefix:
        yield from storage_problem(field, prefix, FOLDER)


@rule(Severity.ERROR, TENSORBOARD)
def tensorboard_has_a_service_account(submission: Submission) -> Iterator[Problem]:
    """A job with a TensorBoard runs as a service account of its own."""
    spec = submission.job_spec
    if spec.tensorboard and not spec.service_account:
        yield Problem(
            submission.spec_field("serviceAccount"),
            _("A TensorBoard is given but no service account, which Vertex AI then requires."),
            _("Give a service account that may write to the TensorBoard and its bucket."),
        )


@rule(Severity.NOTE, TENSORBOARD)
def tensorboard_has_an_output(submission: Submission) -> Iterator[Problem]:
    """A job with a TensorBoard has a base output directory, where the logs go."""
    spec = submission.job_spec
    if spec.tensorboard and not spec.base_output_directory.output_uri_prefix:
        yield Problem(
            submission.spec_field("baseOutputDirectory.outputUriPrefix"),
            _("A TensorBoard is given but no base output directory, so AIP_TENSORBOARD_LOG_DIR stays empty."),
            _("Give a gs:// folder."),
        )


@rule(Severity.ERROR, API)
def tensorboard_is_a_resource(submission: Submission) -> Iterator[Problem]:
    """A TensorBoard is given by its full name."""
    yield from name_problem(submission.spec_field("tensorboard"), submission.job_spec.tensorboard, TENSORBOARD_NAME)


@rule(Severity.ERROR, API)
def experiments_are_contexts(submission: Submission) -> Iterator[Problem]:
    """An experiment and its run are given by the full name of their context."""
    spec = submission.job_spec
    yield from name_problem(submission.spec_field("experiment"), spec.experiment, EXPERIMENT)
    yield from name_problem(submission.spec_field("experimentRun"), spec.experiment_run, RUN)
    if spec.experiment_run and not spec.experiment:
        yield Problem(
            submission.spec_field("experiment"), _("An experiment run is given without its experiment."), _("Give it.")
        )


RULES = (
    output_is_in_cloud_storage,
    tensorboard_has_a_service_account,
    tensorboard_has_an_output,
    tensorboard_is_a_resource,
    experiments_are_contexts,
)
