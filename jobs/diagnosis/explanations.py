"""Build the diagnosis of one job from a cause and the line that showed it."""

import re
from collections.abc import Callable
from dataclasses import replace

from jobs.diagnosis.causes import CAUSES
from jobs.diagnosis.cues.lines import Line
from jobs.diagnosis.diagnosis import Diagnosis
from jobs.spec.paths import json_path
from jobs.texts import joined, quotation
from jobs.texts import translatable as _

MAX_QUOTED = 400
"""Characters of a message that an explanation quotes."""
_METRIC = re.compile(r"[a-z0-9-]{1,63}\.googleapis\.com/\w+")
_BARE_METRIC = re.compile(r"\b(?:custom_model_training|serverless_training)_\w{1,99}")
_COMPUTE_QUOTA = re.compile(r"Quota ['\"]?([A-Z][A-Z0-9_]{2,80})\b")
"""The name of a quota in Compute Engine's words: Quota 'NVIDIA_L4_GPUS' exceeded. Limit: 4.0 in region ..."""
_REGION = re.compile(
    r"\b(?:us|europe|asia|africa|australia|southamerica|northamerica|me)-[a-z]{4,9}\d{1,2}\b(?!-docker)", re.IGNORECASE
)
_NEXT_FIELD = re.compile(r"(?<!\d)\d{1,4}\.Field:", re.IGNORECASE)
_AT = re.compile(r"\bat ['\"]([\w.\[\]]{1,300})['\"]", re.IGNORECASE)
_NAME = re.compile(r"Unknown name \\{0,2}[\"'](\w{1,100})", re.IGNORECASE)
_FIELD = re.compile(r"(?:field|Field)[:\s]{1,3}['\"`]?([a-z_][\w.\[\]]{2,300})")


def explain(cause: str, line: Line, message: str) -> Diagnosis:
    """Return the description of a cause, with details from the line or the message around it."""
    special = SPECIAL.get(cause)
    return special(line, message) if special else quote_cause(cause, line)


WHOSE = _("Vertex AI's words")


def quote_cause(cause: str, line: Line, whose: str = WHOSE) -> Diagnosis:
    """Return the description of a cause, with the line quoted if `whose` it is is given."""
    known = CAUSES[cause]
    quoted = _("%(whose)s: %(words)s.", whose=whose, words=quotation(line.text[:MAX_QUOTED])) if whose else ""
    words = joined(known.explanation, quoted)
    fields = named_fields(line.text)
    if not fields or not any(suggestion["action"] == "edit_field" for suggestion in known.suggestions):
        return replace(known, explanation=words)
    first = {"action": "edit_field", "fields": fields}
    others = tuple(suggestion for suggestion in known.suggestions if suggestion["action"] != "edit_field")
    return replace(known, explanation=words, suggestions=(*others, first))


def named_fields(text: str) -> list[str]:
    """Return the JSON paths of the fields that a refusal names, in its order, each once."""
    found = [*_AT.findall(text), *_NAME.findall(text), *_FIELD.findall(text)]
    return list(dict.fromkeys(json_path(field) for field in found if field not in {"type", "names"}))


def _quota(line: Line, message: str) -> Diagnosis:
    start = max(message.find(line.text), 0)
    metrics = list(dict.fromkeys(_METRIC.findall(message, start) or _BARE_METRIC.findall(message, start)))
    metrics = metrics or _COMPUTE_QUOTA.findall(line.text)
    names = ", ".join(metric.rpartition("/")[2] for metric in metrics) or line.text[:MAX_QUOTED]
    known = CAUSES["quota"]
    words = joined(known.explanation, _("It is short of: %(names)s.", names=names))
    if "preemptible" in names:
        words = joined(words, _("Spot and Flex-start jobs use the preemptible quotas, also for CPUs."))
    first = {"action": "request_quota", "metrics": metrics}
    return replace(known, explanation=words, suggestions=(first, *known.suggestions[1:]))


def _stockout(line: Line, _message: str) -> Diagnosis:
    known = CAUSES["stockout"]
    found = _REGION.search(line.text)
    if found is None:
        return known
    first = {"action": "other_region", "avoid": found[0].lower()}
    return replace(
        known, title=_("Out of capacity in %(region)s", region=found[0]), suggestions=(first, *known.suggestions[1:])
    )


def out_of_memory(replicas: tuple[str, ...], words: str) -> Diagnosis:
    """Return the diagnosis for lack of memory in these replicas or worker pools."""
    pools = list(dict.fromkeys(found[0] for name in replicas if (found := re.match(r"workerpool\d+", name))))
    suggestion = {"action": "next_machine_size"} | ({"pools": pools} if pools else {})
    return replace(CAUSES["out_of_memory"], explanation=words, suggestions=(suggestion,), replicas=replicas)


def _low_on_memory(line: Line, _message: str) -> Diagnosis:
    pools = tuple(dict.fromkeys(re.findall(r"workerpool\d+", line.folded)))
    if not pools:
        return quote_cause("out_of_memory", line)
    return out_of_memory(pools, _("%(pools)s used more memory than the machine has.", pools=", ".join(pools)))


def explain_validation(message: str) -> Diagnosis:
    """Return the diagnosis for a list of errors that Vertex AI found in fields."""
    known = CAUSES["validation"]
    items = [item.partition(";") for item in _NEXT_FIELD.split(message)[1:]]
    if not items:
        words = joined(known.explanation, _("It says: %(words)s.", words=quotation(message[:MAX_QUOTED])))
        return replace(known, explanation=words, suggestions=())
    fields = [json_path(field) for field, _separator, _text in items]
    texts = [text.strip().removeprefix("Message:").strip() for _field, _separator, text in items]
    named = "; ".join(f"{field}: {text}" for field, text in zip(fields, texts, strict=True))
    suggestion = {"action": "edit_field", "fields": fields}
    words = joined(known.explanation, _("It says: %(words)s.", words=quotation(named)))
    return replace(known, explanation=words, suggestions=(suggestion,))


SPECIAL: dict[str, Callable[[Line, str], Diagnosis]] = {
    "quota": _quota,
    "stockout": _stockout,
    "out_of_memory": _low_on_memory,
    "internal": lambda _line, _message: CAUSES["internal"],
    "cancelled": lambda _line, _message: CAUSES["cancelled"],
}
