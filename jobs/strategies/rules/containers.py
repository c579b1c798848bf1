"""Rules about what a pool runs: images, packages, arguments, environment variables."""

import re
from collections.abc import Iterator

from jobs.spec import Severity, Submission, quoted
from jobs.strategies.base import Problem, rule
from jobs.strategies.rules.addresses import storage_problem
from jobs.strategies.rules.placeholders import is_placeholder
from jobs.strategies.sources import API, CODE, PIPELINE
from jobs.texts import translatable as _

MAX_ENV = 100
MAX_PACKAGES = 100
MAX_ARGS_LENGTH = 100_000
ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
IMAGE = re.compile(
    r"[a-z0-9][a-z0-9._-]*(?::[0-9]+)?(?:/[a-z0-9][a-z0-9._-]*)*(?::\w[\w.-]{0,127})?(?:@[a-z0-9]+:[0-9a-f]{32,})?",
    re.ASCII,
)
PREBUILT = re.compile(r"(?:(?:us|europe|asia)-docker\.pkg\.dev/vertex-ai|gcr\.io/cloud-aiplatform)/training/", re.ASCII)
OWN_NAMES = frozenset({"CLUSTER_SPEC", "TF_CONFIG"})
OWN_PREFIXES = ("AIP_", "CLOUD_ML_")
PACKAGE_ADDRESS = _("Upload the package and give its gs:// address.")


@rule(Severity.ERROR, API)
def container_has_an_image(submission: Submission) -> Iterator[Problem]:
    """A container names its image."""
    for path, container in submission.containers:
        if not container.image_uri:
            yield Problem(
                f"{path}.imageUri",
                _("The container names no image."),
                _("Give an Artifact Registry or Docker Hub image."),
            )


@rule(Severity.ERROR, API)
def images_are_references(submission: Submission) -> Iterator[Problem]:
    """An image is a reference such as us-docker.pkg.dev/project/repository/image:tag."""
    images = [(f"{path}.imageUri", found.image_uri) for path, found in submission.containers]
    images += [(f"{path}.executorImageUri", found.executor_image_uri) for path, found in submission.packages]
    for field, image in images:
        if image and not IMAGE.fullmatch(image[:1000]) and not is_placeholder(image):
            yield Problem(
                field,
                _("%(image)s is not an image reference.", image=quoted(image)),
                _("Write registry/repository/image:tag in lower case, without https:// and without spaces."),
            )


@rule(Severity.ERROR, API)
def package_has_an_executor(submission: Submission) -> Iterator[Problem]:
    """A Python package names the prebuilt image that runs it."""
    for path, package in submission.packages:
        if not package.executor_image_uri:
            yield Problem(
                f"{path}.executorImageUri",
                _("The Python package names no executor image."),
                _("Choose one of Google's prebuilt training images (us-docker.pkg.dev/vertex-ai/training/...)."),
            )


@rule(Severity.NOTE, API)
def executors_are_prebuilt(submission: Submission) -> Iterator[Problem]:
    """The executor of a Python package is one of Google's prebuilt training images."""
    for path, package in submission.packages:
        image = package.executor_image_uri
        if image and not PREBUILT.match(image):
            yield Problem(
                f"{path}.executorImageUri",
                _(
                    "%(image)s is not one of Google's prebuilt training images, which the API requires.",
                    image=quoted(image),
                ),
                _("Use us-docker.pkg.dev/vertex-ai/training/..., or run your image as a containerSpec."),
            )


@rule(Severity.ERROR, API)
def package_names_its_files(submission: Submission) -> Iterator[Problem]:
    """A Python package lists at least one package file in Cloud Storage."""
    for path, package in submission.packages:
        if not package.package_uris:
            yield Problem(
                f"{path}.packageUris",
                _("No package file is given."),
                _("Upload a source distribution and give its gs:// address."),
            )
        for index, uri in enumerate(package.package_uris[:MAX_PACKAGES]):
            field = f"{path}.packageUris[{index}]"
            yield from storage_problem(field, uri, PACKAGE_ADDRESS)


@rule(Severity.ERROR, API)
def packages_are_at_most_100(submission: Submission) -> Iterator[Problem]:
    """A Python package lists at most 100 package files."""
    for path, package in submission.packages:
        if len(package.package_uris) > MAX_PACKAGES:
            yield Problem(
                f"{path}.packageUris",
                _(
                    "%(count)s package files are given; Vertex AI takes at most %(limit)s.",
                    count=len(package.package_uris),
                    limit=MAX_PACKAGES,
                ),
                _("Build them into fewer packages or into an image."),
            )


@rule(Severity.ERROR, API)
def package_has_a_module(submission: Submission) -> Iterator[Problem]:
    """A Python package names the module to run, in dots."""
    for path, package in submission.packages:
        module = package.python_module
        if not module:
            yield Problem(
                f"{path}.pythonModule", _("No module is given to run."), _("Name it in dots, e.g. trainer.task.")
            )
        elif ("/" in module or any(sign.isspace() for sign in module)) and not is_placeholder(module):
            dotted = module.strip().removesuffix(".py").replace("/", ".")
            remedy = (
                _("Write `%(module)s`.", module=dotted)
                if len(dotted) < 100 and " " not in dotted
                else _("Write it in dots.")
            )
            yield Problem(f"{path}.pythonModule", _("%(module)s is not a module name.", module=quoted(module)), remedy)


@rule(Severity.ERROR, API)
def env_is_at_most_100(submission: Submission) -> Iterator[Problem]:
    """A task has at most 100 environment variables."""
    for path, task in submission.programs:
        if len(task.env) > MAX_ENV:
            yield Problem(
                f"{path}.env",
                _(
                    "%(count)s environment variables are given; Vertex AI takes at most %(limit)s.",
                    count=len(task.env),
                    limit=MAX_ENV,
                ),
                _("Put them into a file and read it from Cloud Storage."),
            )


@rule(Severity.ERROR, API)
def env_names_are_identifiers(submission: Submission) -> Iterator[Problem]:
    """The name of an environment variable is a C identifier."""
    for path, task in submission.programs:
        for index, variable in enumerate(task.env[:MAX_ENV]):
            if not ENV_NAME.fullmatch(variable.name):
                name = quoted(variable.name) if variable.name else _("An empty name")
                yield Problem(
                    f"{path}.env[{index}].name",
                    _("%(name)s is not a valid name for an environment variable.", name=name),
                    _("Use letters, digits and underscores; do not start with a digit."),
                )


@rule(Severity.NOTE, API)
def env_names_are_given_once(submission: Submission) -> Iterator[Problem]:
    """Each environment variable is given once."""
    for path, task in submission.programs:
        seen: set[str] = set()
        for index, variable in enumerate(task.env[:MAX_ENV]):
            if variable.name in seen:
                message = _(
                    "%(name)s is set more than once; which value is used is not documented.",
                    name=quoted(variable.name),
                )
                yield Problem(f"{path}.env[{index}].name", message, _("Keep one of them."))
            seen.add(variable.name)


@rule(Severity.NOTE, CODE)
def env_leaves_vertex_names_alone(submission: Submission) -> Iterator[Problem]:
    """The environment variables that Vertex AI sets itself are not set by the job."""
    for path, task in submission.programs:
        for index, variable in enumerate(task.env[:MAX_ENV]):
            if variable.name in OWN_NAMES or variable.name.startswith(OWN_PREFIXES):
                yield Problem(
                    f"{path}.env[{index}].name",
                    _("Vertex AI sets %(name)s itself.", name=quoted(variable.name)),
                    _("Choose another name, or leave it out and read the value that Vertex AI gives."),
                )


@rule(Severity.ERROR, PIPELINE)
def args_are_short(submission: Submission) -> Iterator[Problem]:
    """All arguments of a task together have at most 100,000 characters."""
    for path, task in submission.programs:
        length = sum(map(len, task.args))
        if length > MAX_ARGS_LENGTH:
            yield Problem(
                f"{path}.args",
                _(
                    "The arguments have %(length)s characters together; Vertex AI takes at most %(limit)s.",
                    length=f"{length:,}",
                    limit=f"{MAX_ARGS_LENGTH:,}",
                ),
                _("Put them into a file and pass its address."),
            )


RULES = (
    container_has_an_image,
    images_are_references,
    package_has_an_executor,
    executors_are_prebuilt,
    package_names_its_files,
    packages_are_at_most_100,
    package_has_a_module,
    env_is_at_most_100,
    env_names_are_identifiers,
    env_names_are_given_once,
    env_leaves_vertex_names_alone,
    args_are_short,
)
