"""Rules about secrets in a job."""

from collections.abc import Iterator

from pydantic_core import PydanticSerializationError

from jobs.spec import Severity, Submission, rest_body
from jobs.spec.secret_texts import MASK
from jobs.spec.secrets import env_secrets, holds_mask, word_secrets
from jobs.strategies.base import Problem, rule
from jobs.strategies.sources import SECRETS, TRAINBOARD_SECRETS
from jobs.texts import translatable as _

MAX_PLACES = 20
"""Fields of a job that get a finding each."""


def _paths(submission: Submission) -> Iterator[str]:
    """Yield the paths of variables, arguments and command words that look like secrets."""
    for path, task in submission.programs:
        env = [{"name": variable.name, "value": variable.value} for variable in task.env]
        found = [*env_secrets(env, f"{path}.env"), *word_secrets(task.args, f"{path}.args")]
        found += word_secrets(getattr(task, "command", ()), f"{path}.command")
        yield from (secret.path for secret in found)


@rule(Severity.NOTE, SECRETS)
def secrets_are_kept_in_secret_manager(submission: Submission) -> Iterator[Problem]:
    """Passwords, keys and tokens are not written into the job, which others in the project can read at Vertex AI."""
    for path, _number in zip(dict.fromkeys(_paths(submission)), range(MAX_PLACES), strict=False):
        yield Problem(
            path,
            _(
                "This looks like a secret. Vertex AI shows a job's specification to everybody who may see "
                "jobs in the project; Trainboard hides it from everybody but you."
            ),
            _(
                "Keep it in Secret Manager, and let the training read it there with the job's service "
                "account (roles/secretmanager.secretAccessor)."
            ),
        )


@rule(Severity.ERROR, TRAINBOARD_SECRETS)
def hidden_secrets_are_filled_in(submission: Submission) -> Iterator[Problem]:
    """A secret that was hidden when a job was copied is filled in before the copy is submitted."""
    if _may_hold_mask(submission) and holds_mask(rest_body(submission.job)):
        yield from [_hidden(path) for path in _masked_paths(submission)] or [_hidden("")]


def _may_hold_mask(submission: Submission) -> bool:
    """Return whether the job contains the mask; rendering JSON with pydantic is faster than building the REST body."""
    try:
        return MASK in submission.job.model_dump_json()
    except PydanticSerializationError:  # a lone surrogate, which JSON text cannot hold
        return True


def _masked_paths(submission: Submission) -> Iterator[str]:
    """Yield the paths of masked values in the programs of the pools; other fields may contain the mask too."""
    for path, task in submission.programs:
        lists = (("env", [variable.value for variable in task.env]), ("args", task.args))
        for part, texts in (*lists, ("command", getattr(task, "command", ()))):
            for at, text in enumerate(texts):
                if MASK in text:
                    yield f"{path}.{part}[{at}]" + (".value" if part == "env" else "")


def _hidden(path: str) -> Problem:
    return Problem(
        path,
        _("%(mask)s hides somebody else's secret.", mask=MASK),
        _("Write your own value, or better its name in Secret Manager."),
    )


RULES = (secrets_are_kept_in_secret_manager, hidden_secrets_are_filled_in)
