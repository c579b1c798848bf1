"""Decode bytes, detect the format of a text, and explain why a text contains no job."""

import re

from jobs.importer.nodes import SUPPORTED, Notes
from jobs.importer.sdk_names import MAKES_A_JOB, SDK
from jobs.texts import translatable as _

MAX_BYTES = 2 * 1024 * 1024
ENCODINGS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
INDENT = re.compile(r"^[ \t]*[\u00a0\u200b\ufeff\x0c][\u00a0\u200b\ufeff\x0c \t]*", re.MULTILINE)
VISIBLE = {ord("\u00a0"): " ", ord("\u200b"): None, ord("\ufeff"): None, ord("\x0c"): " "}
"""Characters that look like spaces, as web pages and chats insert them."""
COMMENT = re.compile(r"^[ \t]*#[^\n]*\n?", re.MULTILINE)
CREATE = re.compile(
    r"\b(?:custom-jobs|hp-tuning-jobs)[ \t\\`^\n]+create\b"
    r"|\b(?:ai-platform|ml-engine)[ \t\\`^\n]+jobs[ \t\\`^\n]+submit[ \t\\`^\n]+training\b"
)
CURL = re.compile(
    r"^[ \t]*(?:(?:[$!%][ \t]*|\w+=\"?\$\([ \t]*)?curl[ \t\\]|Invoke-(?:WebRequest|RestMethod)\b)", re.MULTILINE
)
JSON = re.compile(r"(?:\s|//[^\n]*\n|#[^\n]*\n|/\*.*?\*/)*[{\[]", re.DOTALL)
YAML_KEY = re.compile(r"[ \t]*(?:-[ \t]+)?['\"]?[A-Za-z_][\w-]*['\"]?[ \t]*:(?:[ \t]|$)")
PYTHON = re.compile(r"^[ \t]*(?:from[ \t]+\S+[ \t]+import\b|import[ \t]+\w|def[ \t]+\w+\(|class[ \t]+\w)", re.MULTILINE)
BOUND = re.compile(r"^[ \t]*\w+[ \t]*(?::[^=\n]{1,200})?=[ \t]*(?:dict\(|[\[{])", re.MULTILINE)
SDK_FIELD = re.compile(r"(?i:\b(?:machine_?spec|worker_?pool_?specs?|study_spec)\b)")
CONFIG = re.compile(
    r"^[ \t]*['\"]?(?:workerPoolSpecs|worker_pool_specs|trialJobSpec|jobSpec)['\"]?[ \t]*:", re.MULTILINE
)
BODY = re.compile(r"^[ \t]*[^# \t\n]", re.MULTILINE)
"""The first line that is neither blank nor a comment."""
FENCE = re.compile(r"[ \t]*(?:```+[^`\n]*|~~~+[^\n]*)$")
FENCE_END = re.compile(r"[ \t]*(?:```+|~~~+)[ \t]*")
FIRST_LINES = (
    ("gcloud", re.compile(r"[ \t$!%]*gcloud[ \t]")),
    ("curl", re.compile(r"[ \t$!%]*curl[ \t\\]")),
    ("python", re.compile(r"(?:from[ \t]+[\w.]+[ \t]+import|import[ \t]+\w|dict\(|\([ \t]*(?:[\[{(]|dict\(|$))")),
    ("python", re.compile(r"[A-Za-z_]\w*[ \t]*:[ \t]*[A-Za-z_][\w\[\], .|]*=[ \t]*(?:[\[{(]|dict\b)")),
    ("gcloud-yaml", YAML_KEY),
    ("gcloud-yaml", re.compile(r"(?:-[ \t]|---|%YAML)")),
)
PASTE_REQUEST = _("Give the request that it sends as JSON or YAML, a gcloud command, or Python with the Vertex AI SDK.")
LANGUAGES = tuple(
    (name, re.compile(sign, re.MULTILINE))
    for name, sign in (
        ("Go", r"^package[ \t]+\w+[ \t]*$|^[ \t]*func[ \t]+\w+\(|&?aiplatformpb\."),
        ("Java", r"^(?:import[ \t]+(?:static[ \t]+)?|package[ \t]+)[\w.]+;|^(?:public[ \t]+)?class[ \t]+\w+[ \t]*\{"),
        ("C#", r"^using[ \t]+[\w.]+;|^namespace[ \t]+[\w.]+"),
        (
            "JavaScript",
            r"^(?:const|let|var)[ \t]+[\w{}, ]{1,200}=|\brequire\(['\"]@google-cloud|^import .{1,99} from ['\"]",
        ),
        ("Terraform", r"^[ \t]*(?:resource|module|data|provider|variable)[ \t]+\"[\w-]+\"|^locals[ \t]*\{"),
        ("Ruby", r"^require[ \t]+['\"]google/"),
        ("PHP", r"<\?php\b"),
        ("R", r"^library\(\w+\)|^\w+[ \t]*<-[ \t]"),
        ("Scala", r"^object[ \t]+\w+[ \t]*(?:extends\b|\{)"),
        ("Pulumi", r"^runtime:[ \t]*yaml\b"),
        (_("the configuration of a Ray cluster"), r"^(?:available_node_types|head_node_type):"),
        (_("a component of a pipeline"), r"^implementation:[ \t]*(?:\n[ \t]+|\{[ \t]*)(?:container|graph):"),
        (_("a pipeline for Kubeflow"), r"^[ \t]*@(?:\w+\.)*(?:pipeline|component|container_component)\b"),
        (_("a program for Ray"), r"^import ray\b|^from ray\b|@ray\.remote\b"),
        (_("a program for XManager"), r"\bxm(?:_local)?\.(?:Vertex|create_experiment|Packageable)"),
        (_("a Dockerfile"), r"^(?:ENTRYPOINT|COPY|WORKDIR)[ \t]"),
    )
)
"""What other languages and tools look like, and what to give instead."""
MAX_EXPLAINED = 500_000
SURROGATE = re.compile("[\ud800-\udfff]")
FIELD = re.compile(
    r"^[ \t]*(?:-[ \t]+)?['\"]?(?:worker_?pool_?specs?|(?:trial_?)?job_?spec|machine_?spec|container_?spec|study_?spec"
    r"|python_?package_?spec|image_?uri)['\"]?[ \t]*:",
    re.MULTILINE | re.IGNORECASE,
)


def decode(given: str | bytes, notes: Notes) -> str | None:
    """Return the text with `\\n` line ends and no byte order mark; None with an error in `notes` if it is not text."""
    if len(given) > MAX_BYTES:
        message = _("The text is larger than %(limit)s MiB.", limit=MAX_BYTES // 1024 // 1024)
        notes.error("too_large", None, message, _("Give one job."))
        return None
    text = _decoded(given) if isinstance(given, bytes) else given
    if text is None or "\0" in text:
        notes.error("not_text", None, _("This is binary data, not text."), SUPPORTED)
        return None
    if SURROGATE.search(text):
        notes.error(
            "not_text", None, _("The text contains invalid characters (lone surrogates)."), _("Save it as UTF-8.")
        )
        return None
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        notes.error("empty", None, _("There is nothing to read."), SUPPORTED)
        return None
    if (indent := INDENT.search(text)) is not None:
        line = text.count("\n", 0, indent.start()) + 1
        notes.note("invisible_blanks", line, _("The indentation has other kinds of spaces; they are read as spaces."))
    return INDENT.sub(lambda indent: indent[0].translate(VISIBLE), text)


def _decoded(given: bytes) -> str | None:
    encoding = next((name for mark, name in ENCODINGS if given.startswith(mark)), "utf-8")
    try:
        return given.decode(encoding)
    except UnicodeDecodeError:
        return None


def detect_format(text: str) -> str:
    """Return the format of a text: rest, gcloud-yaml, gcloud, curl or python."""
    bare = COMMENT.sub("", text)
    if JSON.match(text) and not text.lstrip().startswith(("{{", "{%")):
        return "rest"
    first = next((line for line in bare.split("\n") if line.strip()), "")
    for name, pattern in FIRST_LINES:
        if pattern.match(first):
            return name
    if MAKES_A_JOB.search(bare) or ((SDK.search(bare) or SDK_FIELD.search(bare)) and PYTHON.search(bare)):
        return "python"
    if "gcloud" in bare and CREATE.search(bare):
        return "gcloud"
    if CURL.search(bare):
        return "curl"
    return "python" if BOUND.search(bare) and SDK_FIELD.search(bare) else "gcloud-yaml"


def is_document(name: str) -> bool:
    """Return whether a format describes a job, rather than the commands or code that create it."""
    return name in ("rest", "gcloud-yaml")


def names_a_job(text: str) -> bool:
    """Return whether a text shows a job, rather than only mentioning Vertex AI."""
    return bool(CREATE.search(text) or SDK_FIELD.search(text) or CONFIG.search(text) or MAKES_A_JOB.search(text))


def without_magic(text: str) -> str:
    """Empty a first line such as `%%writefile job.yaml` of a notebook's cell."""
    return re.sub(r"\A(\s*)%%[^\n]*", r"\1", text)


def explain(text: str, started: int, notes: Notes) -> None:
    """Replace the notes since `started` about a text without a job if a more exact reason is known."""
    if len(text) > MAX_EXPLAINED:
        return
    own = Notes(notes.findings[started:])
    kept, remedy = [], SUPPORTED
    language = next(((name, found.start()) for name, sign in LANGUAGES if (found := sign.search(text))), None)
    if language is not None and not any(note.field for note in own.findings):
        (name, place), remedy = language, PASTE_REQUEST
        message = _("This looks like %(language)s, which is not read.", language=name)
    elif (command := _commented(text)) and all(note.code in ("no_job", "unreadable_yaml") for note in own.findings):
        place, message, remedy = (
            command.start(),
            _("The command that creates a job is a comment."),
            _("Remove the comment signs."),
        )
    elif own.has("unreadable_yaml") and not FIELD.search(text):
        place, message = 0, _("No job was found in this text.")
        kept = [note for note in own.findings if note.code not in ("no_job", "unreadable_yaml")]
    else:
        return
    notes.findings[started:] = kept
    notes.error("no_job", text.count("\n", 0, place) + 1, message, remedy)


def _commented(text: str) -> re.Match[str] | None:
    """Return the first commented command that creates a job, if all such commands are in comments.

    Return None if the text has fields of a job too: then it is a config file with the command in a comment.
    """
    comments = (comment for comment in COMMENT.finditer(text) if "gcloud" in comment[0] and CREATE.search(comment[0]))
    first, rest = next(comments, None), COMMENT.sub("", text)
    return None if first is None or CREATE.search(rest) or FIELD.search(rest) else first
