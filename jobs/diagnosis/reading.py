"""Find the cause of a failure in Vertex AI's words, and only where they are silent in its code.

The words come first because the code misleads: 8 (RESOURCE_EXHAUSTED) stands for quota, capacity and memory alike, and
3 (INVALID_ARGUMENT) for a failed program. What the training program itself printed is part of the message too; it is
kept apart, so that a traceback about an "internal error" is not taken for one of Vertex AI's.
"""

import re
from collections.abc import Callable
from dataclasses import replace

from jobs.diagnosis.answer import Diagnosis
from jobs.diagnosis.causes import CAUSES
from jobs.diagnosis.exits import KILLED, NOT_STARTED, TERMINATED, TRANSIENT, TRANSIENT_RETRIED, Exit, read_exits

LONGEST_MESSAGE = 20_000
"""Characters that are read; the patterns here are quick on anything of that length."""
CODES = {1: "cancelled", 4: "timeout", 7: "permission", 8: "resources", 13: "internal", 14: "unavailable"}
CODE_NAMES = (
    "OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED"
    " RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS"
    " UNAUTHENTICATED"
).split()

_METRIC = re.compile(r"[a-z0-9-]{1,63}\.googleapis\.com/\w+")
_POOLS = re.compile(
    r"replicas? low on memory:\s{0,9}(?P<pools>workerpool\d+(?:[-,\s]{1,3}(?:workerpool)?\d+)*)", re.IGNORECASE
)
_NEXT_FIELD = re.compile(r"(?<!\d)\d{1,4}\.Field:", re.IGNORECASE)


def diagnose(code: int | None, message: str) -> Diagnosis | None:
    """Return why a job failed, from the `error` that Vertex AI gave or a refusal's words; None when it said nothing.

    `code`: google.rpc number or None. Words that fit nothing known give the cause "unknown" and are repeated as they
    are.
    """
    message = message[:LONGEST_MESSAGE].strip()
    if not message and not code:
        return None
    said, exits = read_exits(message)
    for pattern, explain in SENTENCES:
        if found := pattern.search(said):
            return explain(found)
    if low := _POOLS.search(message):
        return _low_on_memory(low)
    if exits and code != 1:  # of a cancelled job the replicas' ends are a consequence
        return _from_exits(exits)
    return _from_code(code, message)


def _from_code(code: int | None, message: str) -> Diagnosis:
    if message.upper().startswith(("CANCELED", "CANCELLED")):
        return CAUSES["cancelled"]
    known = CAUSES[CODES.get(code or 0, "unknown")]
    name = CODE_NAMES[code] if code and 0 < code < len(CODE_NAMES) else "a code that Google does not define"
    words = message or f"Vertex AI gave no words, only the code {code} ({name})."
    if known.cause in {"unknown", "permission"}:
        return replace(known, explanation=f"{known.explanation} {words}".strip())
    return replace(known, explanation=f"{known.explanation} Its words: {message}") if message else known


# ---------------------------------------------------------------- sentences of Vertex AI itself
def _quota(found: re.Match[str]) -> Diagnosis:
    metrics = list(dict.fromkeys(_METRIC.findall(found.string, found.start())))
    names = ", ".join(metric.partition("/")[2] for metric in metrics) or found[0]
    known = CAUSES["quota"]
    words = f"{known.explanation} It is short of: {names}."
    if "preemptible" in names:
        words += " Spot and Flex-start jobs count against the quotas called preemptible, machines' processors included."
    first = {"action": "request_quota", "metrics": metrics}
    return replace(known, explanation=words, suggestions=(first, *known.suggestions[1:]))


def _stockout(found: re.Match[str]) -> Diagnosis:
    known = CAUSES["stockout"]
    region = found.groupdict().get("region")
    if not region:
        return known
    first = {"action": "other_region", "avoid": region}
    return replace(known, title=f"No machines free in {region}", suggestions=(first, *known.suggestions[1:]))


def _low_on_memory(found: re.Match[str]) -> Diagnosis:
    pools = tuple(dict.fromkeys(re.findall(r"workerpool\d+", found["pools"], re.IGNORECASE)))
    return _out_of_memory(pools, f"{' and '.join(pools)} used more memory than the machine has.")


def _out_of_memory(replicas: tuple[str, ...], words: str) -> Diagnosis:
    pools = list(dict.fromkeys(found[0] for name in replicas if (found := re.match(r"workerpool\d+", name))))
    suggestion = {"action": "next_machine_size"} | ({"pools": pools} if pools else {})
    return replace(CAUSES["out_of_memory"], explanation=words, suggestions=(suggestion,), replicas=replicas)


def _image_pull(found: re.Match[str]) -> Diagnosis:
    known = CAUSES["image_pull"]
    return replace(known, explanation=f"{known.explanation} Vertex AI's words: {_line(found)}")


def _machine(found: re.Match[str]) -> Diagnosis:
    return replace(CAUSES["machine_not_supported"], explanation=_line(found))


def _validation(found: re.Match[str]) -> Diagnosis:
    known = CAUSES["validation"]
    items = [item.partition(";") for item in _NEXT_FIELD.split(found.string[found.end() :])[1:]]
    if not items:
        return replace(known, explanation=_line(found))
    fields = [_json_path(field.strip()) for field, _, _ in items]
    texts = [text.strip().removeprefix("Message:").strip() for _, _, text in items]
    words = "; ".join(f"{field}: {text}" for field, text in zip(fields, texts, strict=True))
    suggestion = {"action": "edit_field", "fields": fields}
    return replace(known, explanation=f"{known.explanation} It says: {words}", suggestions=(suggestion,))


def _named(cause: str) -> Callable[[re.Match[str]], Diagnosis]:
    """Return an explanation that adds Vertex AI's own sentence to what is known about `cause`."""

    def explain(found: re.Match[str]) -> Diagnosis:
        known = CAUSES[cause]
        return replace(known, explanation=f"{known.explanation} Vertex AI's words: {_line(found)}")

    return explain


def _plain(cause: str) -> Callable[[re.Match[str]], Diagnosis]:
    return lambda _: CAUSES[cause]


def _line(found: re.Match[str]) -> str:
    """Return the line of the message in which the match is, 400 characters at most."""
    start = found.string.rfind("\n", 0, found.start()) + 1
    return found.string[start:].partition("\n")[0].strip()[:400]


def _json_path(field: str) -> str:
    return re.sub(r"_([a-z0-9])", lambda letter: letter[1].upper(), field)


SENTENCES: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Diagnosis]], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), explain)
    for pattern, explain in (
        (r"quota metrics? exceed(?:ed)? quota limits?", _quota),
        (r"quota '?[\w-]{1,99}'? exceeded", _quota),
        (r"resources are insufficient in region:\s{0,9}(?P<region>[a-z0-9-]{1,40})", _stockout),
        (r"\bSTOCKOUT\b|ZONE_RESOURCE_POOL_EXHAUSTED|does not have enough resources", _stockout),
        (_POOLS.pattern, _low_on_memory),
        (r"internal error (?:occurred for the current attempt|encountered|happened)", _plain("internal")),
        (r"does not have permission to access (?:artifact registry repository|image)", _image_pull),
        (r"ErrImagePull|ImagePullBackOff|failed to pull (?:and unpack )?image", _image_pull),
        (r"termination reason: StartError|failed to create containerd task", _named("image_start")),
        (r"do(?:es)? not have permission to act as service[_ ]account", _named("act_as")),
        (r"list of found errors:", _validation),
        (r"bucket of .{1,300} is in location .{1,60} must be in the same regional location", _named("bucket_region")),
        (r"(?:machine type|accelerator) \"?[\w-]{1,80}\"? is not supported", _machine),
        (r"permission '?[\w.]{1,99}'? denied on resource", _named("permission")),
        (
            r"ran longer than its timeout|exceeded (?:the |its )?(?:maximum )?(?:timeout|run(?:ning)? time)",
            _plain("timeout"),
        ),
    )
)


# ---------------------------------------------------------------- replicas that ended badly
PROGRAM_WORDS = (
    (
        re.compile(r"CUDA out of memory|CUDA_ERROR_OUT_OF_MEMORY|OutOfMemoryError: CUDA|OOM when allocating tensor"),
        "gpu_memory",
    ),
    (re.compile(r"No space left on device|low on resource: ephemeral-storage", re.IGNORECASE), "disk_full"),
    (re.compile(r"ModuleNotFoundError: |ImportError: No module named"), "missing_module"),
    (re.compile(r"does not have [a-z]{1,30}\.[a-zA-Z.]{1,60} access"), "permission"),
    (re.compile(r"^MemoryError\b|Cannot allocate memory|std::bad_alloc", re.MULTILINE), "out_of_memory"),
)


def _from_exits(exits: list[Exit]) -> Diagnosis:
    """Explain by the replica whose end says most: without memory, then not started, else the first that is named."""
    replicas = tuple(dict.fromkeys(each.replica for each in exits))
    short = [each for each in exits if each.out_of_memory or each.reason.lower() == "oomkilled"]
    if short:
        return _out_of_memory(tuple(each.replica for each in short), f"{short[0].replica} ran out of memory.")
    unstarted = [each for each in exits if each.reason == "StartError" or "failed to create containerd" in each.said]
    first = (unstarted or exits)[0]
    if unstarted or first.code in NOT_STARTED:
        return _with_words(CAUSES["image_start"], first, replicas)
    for pattern, cause in PROGRAM_WORDS:
        if pattern.search(first.said):
            return _with_words(CAUSES[cause], first, replicas)
    if first.code in KILLED:
        words = f"{first.words} Nearly always that is for lack of memory."
        return replace(_out_of_memory((first.replica,), words), title="Probably out of memory", replicas=replicas)
    if first.code in TERMINATED:
        return _with_words(CAUSES["terminated"], first, replicas)
    known = CAUSES["user_code"]
    if first.code in TRANSIENT:
        known = replace(known, retried=TRANSIENT_RETRIED)
    return _with_words(replace(known, explanation=""), first, replicas)


def _with_words(known: Diagnosis, first: Exit, replicas: tuple[str, ...]) -> Diagnosis:
    others = len(replicas) - 1
    words = [known.explanation, first.words]
    if others:
        words.append(f"{others} more replica{'s' if others > 1 else ''} ended badly too.")
    if first.last_words:
        words.append(f"Its last words: {first.last_words}")
    return replace(known, explanation=" ".join(filter(None, words)), replicas=replicas)
