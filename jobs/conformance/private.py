"""Remove everything private from answers and log entries, by allowing only what has a known shape.

A word stays if it is a plain English word, a small number, a time, or has the form of a public name of Google Cloud: a
region, a machine type, an enum value, a field of the API, a quota metric. Everything else becomes a placeholder such as
`NAME-2`, the same for the same value within one recording, so that two entries about one machine still show that.
Pure.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from jobs.catalog import MACHINES, REGIONS
from jobs.spec import KINDS, PersistentResource
from jobs.spec.shape import fields, slots

MAX_PUBLIC_NUMBER = 999_999
"""Larger whole numbers may be project numbers or ids."""
MIN_INNER = 6
"""A private value of at least this length is found inside words too; a shorter one would be a part of too many."""
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)")
RESOURCE = re.compile(
    r"(?P<host>//[a-z]+\.googleapis\.com/)?(?P<start>projects)/(?P<project>[^/\s]+)(?P<rest>(?:/[^/\s\"']+)*)"
)
COLLECTION = re.compile(r"[a-z]+(?:[A-Z][a-z]+)*")
HTTP_DATE = re.compile(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT")
IP = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?|\[?[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,7}\]?")
EDGES = "\"'`“”‘’()[]{}<>,.;:!?*"
HYPHENATED = frozenset("non-zero out-of-memory pre-built re-run on-demand built-in non-existent user-provided".split())
LABEL_KEYS = frozenset(
    """compute.googleapis.com/resource_id compute.googleapis.com/resource_name compute.googleapis.com/zone
    ml.googleapis.com/endpoint ml.googleapis.com/job_id ml.googleapis.com/job_id/log_area ml.googleapis.com/task_name
    ml.googleapis.com/tpu_worker_id ml.googleapis.com/trial_id ml.googleapis.com/trial_type job_id project_id task_name
    region location quota_metric quota_limit service consumer""".split()
)
"""Keys of the maps `labels`, `metadata` and `dimensions` whose names are Google's."""
MAPS = frozenset({"labels", "userLabels", "metadata", "dimensions"})
PUBLIC = (
    re.compile(r"[A-Z]?[a-z]{1,20}(?:['’][a-z]{1,3})?"),  # a word
    re.compile(r"[A-Z]{1,16}"),
    re.compile(r"(?:[A-Z][a-z]{1,15}){2,5}"),  # CustomJob
    re.compile(r"[A-Z]{2,12}[a-z]{2,12}"),  # OOMKilled
    re.compile(r"[A-Z]{2,20}(?:_[A-Z0-9]{1,14}){1,6}"),  # JOB_STATE_RUNNING, NVIDIA_A100_80GB
    re.compile(r"\d{1,5}"),
    re.compile(r"\d{1,4}(?:\.\d{1,3})?(?:s|ms|%|GB|GiB|MB)"),
    re.compile(r"\d{1,9}(?:\.\d{1,9})?s"),  # a duration
    re.compile(r"\d{1,3}\.[A-Z][a-z]+"),  # “1.Field” in a list of errors
    re.compile(r"\d{1,3}\([A-Z]{1,10}\)"),  # 139(SIGSEGV)
    TIME,
    re.compile(r"aiplatform\.googleapis\.com/custom_model_training_[a-z0-9_]{1,60}"),
    re.compile(r"type\.googleapis\.com/google(?:\.[A-Za-z0-9]+)+"),
    re.compile(r"[a-z]{1,24}\.googleapis\.com"),
    re.compile(r"workerpool[0-3](?:-\d{1,4})?"),
    re.compile(r"[a-z]\d{1,2}[a-z]?-(?:standard|highmem|highcpu|highgpu|megagpu|ultragpu|megamem|ultramem|micro)"
               r"(?:-\d{1,3})?[gt]?"),
    re.compile(r"[a-z]\d{1,2}[a-z]?-(?:standard|highmem|highcpu)-\d{1,3}-nvidia-tesla-[a-z]\d{1,3}-\d{1,2}"),
    re.compile(r"custom_model_training_[a-z0-9_]{1,60}"),
)  # fmt: skip
FIELD_PATH = re.compile(r"[A-Za-z_]+(?:\[\d{1,2}\])?(?:\.[A-Za-z_]+(?:\[\d{1,2}\])?)*")
KEY = re.compile(r"@?[a-z]{1,24}(?:[A-Z][a-z]{1,20}){0,6}")
MORE_FIELDS = frozenset(
    """custom_job job_spec state labels display_name create_time update_time start_time end_time page_token page_size
    read_mask max_wait_duration hyperparameter_tuning_job training_pipeline persistent_resource""".split()
)


class Scrubber:
    """Replaces private values. `private` maps known private values to their placeholders; `kept` are values of ours.

    A value in `kept` stays only if it is the whole text. A private value is replaced wherever it occurs, even if it is
    a plain word.
    """

    def __init__(self, private: Mapping[str, str], kept: Iterable[str] = ()) -> None:
        self._private = {value.lower(): placeholder for value, placeholder in private.items() if value}
        self._kept = set(kept)
        self._known: dict[str, str] = {}
        self._counts: dict[str, int] = {}

    def keep(self, *values: str) -> None:
        """Let these values of ours stay, such as the display names of the run."""
        self._kept.update(value for value in values if value)

    def scrub(self, value: Any, key: str = "") -> Any:
        """Return JSON without private values."""
        if isinstance(value, dict):
            return {self._key(name, key): self.scrub(item, name) for name, item in value.items()}
        if isinstance(value, list):
            return [self.scrub(item, key) for item in value]
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) > MAX_PUBLIC_NUMBER:
            return self._placeholder("ID", str(value))
        return value

    def text(self, text: str) -> str:
        """Return a text with each private word replaced."""
        if text in self._kept or TIME.fullmatch(text) or HTTP_DATE.fullmatch(text):
            return text
        return "".join(part if part.isspace() else self._word(part) for part in re.split(r"(\s+)", text))

    def _key(self, name: str, within: str) -> str:
        is_public = name in LABEL_KEYS or name in self._kept
        if not is_public and within not in MAPS:
            is_public = bool(KEY.fullmatch(name)) or name in _field_names()
        if is_public and not self._holds_private(name):
            return name
        return self._placeholder("KEY", name)

    def _word(self, word: str) -> str:
        core = word.strip(EDGES)
        if not core or core in self._kept or self._is_public(core) or self._is_public(word.rstrip(".,;")):
            return word
        start = word.index(core)
        return word[:start] + self._replaced(core) + word[start + len(core) :]

    def _is_public(self, word: str) -> bool:
        if self._holds_private(word):
            return False
        if word in REGIONS or word[:-2] in REGIONS or word in MACHINES or word in HYPHENATED:
            return True
        if any(pattern.fullmatch(word) for pattern in PUBLIC):
            return True
        return bool(FIELD_PATH.fullmatch(word)) and set(re.findall(r"[A-Za-z_]+", word)) <= _field_names()

    def _holds_private(self, word: str) -> bool:
        lowered = word.lower()
        parts = re.split(r"[^a-z0-9]+", lowered)
        return any(value in lowered if len(value) >= MIN_INNER else value in parts for value in self._private)

    def _replaced(self, word: str) -> str:
        """Return the placeholder of a word that is not public, by its form."""
        if word.lower() in self._private:
            return self._private[word.lower()]
        if resource := RESOURCE.fullmatch(word):
            return self._resource(resource)
        if word.startswith("gs://"):
            bucket = word.removeprefix("gs://").partition("/")[0]
            return "gs://" + self._private.get(bucket.lower(), self._placeholder("BUCKET", bucket))
        if "://" in word:
            return self._placeholder("URL", word)
        if "@" in word:
            return self._placeholder("EMAIL", word)
        name, sign, value = word.partition("=")
        if sign and FIELD_PATH.fullmatch(name):
            return f"{self._word(name)}={self._word(value)}"
        if IP.fullmatch(word):
            return self._placeholder("IP", word)
        if word.isdigit():
            return self._placeholder("ID", word)
        kind = "IMAGE" if "/" in word else "HOST" if "." in word else "NAME"
        return self._placeholder(kind, word)

    def _resource(self, found: re.Match[str]) -> str:
        """Return a resource name with the project, ids and names replaced: projects/PROJECT/locations/R/customJobs/ID.

        Collections and regions stay, also the replica at the end of a log's name.
        """
        project, rest = found["project"], found["rest"].split("/")[1:]
        parts = [found["host"] or "", "projects/", self._project(project)]
        for index, part in enumerate(rest):
            is_collection = index % 2 == 0 and COLLECTION.fullmatch(part) and not self._holds_private(part)
            stays = is_collection or part in self._kept or (self._is_public(part) and not part.isalpha())
            parts += ["/", part if stays else self._placeholder("ID", part)]
        return "".join(parts)

    def _project(self, project: str) -> str:
        if project.lower() in self._private:
            return self._private[project.lower()]
        return self._placeholder("PROJECT", project)

    def learn_project(self, number: str) -> None:
        """Treat a project number as the number of the run's project."""
        self._private.setdefault(number, "PROJECT")

    def _placeholder(self, kind: str, value: str) -> str:
        if value not in self._known:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            self._known[value] = f"{kind}-{self._counts[kind]}"
        return self._known[value]


@cache
def _field_names() -> frozenset[str]:
    """Return the names of all fields of the API's resources that are known here, in both spellings."""
    found = set(MORE_FIELDS)
    waiting = [*KINDS.values(), PersistentResource]
    seen = set()
    while waiting:
        model = waiting.pop()
        if model in seen:
            continue
        seen.add(model)
        found |= set(slots(model))
        waiting += [slot.model for slot in fields(model) if slot.model is not None]
    return frozenset(found | {re.sub(r"([A-Z])", lambda match: "_" + match[1].lower(), name) for name in found})
