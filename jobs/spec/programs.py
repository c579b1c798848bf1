"""Find placeholders in the command, arguments and environment variables of a container.

Expressions that the container resolves are not placeholders. These are variables in the text of a shell (`bash -c`)
that Vertex AI, the spec's env or the text itself sets; `$(command)` in such a text; and `$(NAME)` of a variable, which
Vertex AI expands. Source: Agent Platform docs, "Configure container settings for training" and "Training code
requirements"; POSIX, "Shell Command Language", 2.6 Word Expansions, read 2026-11-22.
"""

import re
from collections.abc import Iterator, Sequence

from jobs.spec.placeholder_words import ADDRESS, FILLER, LEFT_OPEN

MAX_LENGTH = 100_000
"""Characters of a text that are searched; Vertex AI accepts no more in all arguments together."""
SHELLS = frozenset({"sh", "bash", "dash", "ash", "ksh", "zsh"})
SIGNS = re.compile(r"[$<{\[%@\u2026]|__|[A-Z]{3}|\.{3}|x{3}|your[-_]|todo|tbd|fixme|change|fill|replace|enter |insert ")
"""Found in every placeholder; checking for these first is many times faster."""
MARK = re.compile(
    r"\{\{[^{}\n]*\}\}|\{%[^%\n]*%\}|%[A-Z][A-Z_]+%|@[A-Z_]{3,}@|\b__[A-Z][A-Z0-9_]*__\b|\[your[ _-][a-z0-9 _-]*\]"
)
ANGLED = re.compile(r"(?<![<P?\w-])<([A-Za-z][\w .:/-]*[\w.]|[A-Za-z])>")
SPECIAL_TOKENS = frozenset("s pad unk bos eos mask sep cls image audio video".split())
"""Special tokens of language models, such as <pad>."""
SQUARE = re.compile(r"\[[A-Z]{2,}[A-Z0-9]*(?:[_ -][A-Z0-9]+)*\]")
SQUARE_WORDS = re.compile(r"\[[A-Z]{2,}[A-Z0-9]*(?:[_ -][A-Z0-9]+)+\]")
BRACED = re.compile(r"\$\{[^{}\n]*\}")
NAMED = re.compile(r"(?<![\w$\\.])\$[A-Za-z_]\w*")
CALLED = re.compile(r"(?<!\$)\$\(([^()\n]+)\)")
OPERATORS = re.compile(r"\s(?:&&|\|\|?|;|>>?)\s|;\s|\$\(|\n")
SERVICE = re.compile(
    r"(?:AIP|CLOUD_ML|CUDA|NVIDIA|LC)_\w+|CLUSTER_SPEC|TF_CONFIG|GOOGLE_(?:CLOUD_PROJECT|APPLICATION_CREDENTIALS)"
    r"|RANK|WORLD_SIZE|LOCAL_RANK|MASTER_(?:ADDR|PORT)|HOME|PATH|PWD|OLDPWD|USER|HOSTNAME|SHELL|LANG|TMPDIR|IFS|RANDOM"
    r"|SECONDS|PYTHONPATH|LD_(?:LIBRARY_PATH|PRELOAD)|UID|PPID|OPTARG|OPTIND|REPLY|BASH\w*|FUNCNAME|LINENO|PIPESTATUS"
    r"|VIRTUAL_ENV|CONDA_\w+|DEBIAN_FRONTEND"
)
"""Variables that Vertex AI, its images or a shell set in every container."""
ASSIGNED = re.compile(
    r"(?<![\w$-])([A-Za-z_]\w*)\+?=(?!=)|\bfor\s+([A-Za-z_]\w*)\s+in\b"
    r"|\b(?:read|mapfile|readarray|getopts)\s+([\w \t'-]+)"
)
EXPANSION = re.compile(r"\\.|'|\"|\$\{([^{}\n]*)\}|\$([A-Za-z_]\w*)", re.DOTALL)
PARAMETER = re.compile(r"[#!]?([A-Za-z_]\w*)(.*)", re.DOTALL)
DEFAULTED = (":-", ":=", ":+", "-", "=", "+")
WORD = re.compile(r"[^\s=;&|()<>,'\"`]+")
INTRODUCED = re.compile(r"(?:export|read|unset|local|declare|readonly|-[nzv])\s+\Z")


def program_placeholders(
    command: Sequence[str], args: Sequence[str], env: Sequence[tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    """Yield (path below the task, text) of the words and values that contain a placeholder."""
    known = frozenset(name for name, _ in env)
    words = [*(("command", *each) for each in enumerate(command)), *(("args", *each) for each in enumerate(args))]
    signed = [(field, index, text) for field, index, text in words if SIGNS.search(text)]
    scripts = _scripts(command, args) if signed else set()
    before = dict(zip([word[:2] for word in words[1:]], [word[2] for word in words], strict=False))
    for field, index, text in signed:
        flag, _, value = text.partition("=") if "=" in text else (before.get((field, index), ""), "", text)
        is_own_name = len(value) > 1 and value.isupper() and flag.startswith("-") and _plain(flag) == _plain(value)
        if is_own_name or _is_open(text, known, is_script=(field, index) in scripts):
            yield f"{field}[{index}]", text
    for index, (_, text) in enumerate(env):
        if SIGNS.search(text) and _is_open(text, known, is_script=False):
            yield f"env[{index}].value", text


def _plain(word: str) -> str:
    """Return the name of a flag, or a word, for comparison: `--batch-size` and BATCH_SIZE are the same."""
    return word.lstrip("-").replace("-", "_").lower()


def _scripts(command: Sequence[str], args: Sequence[str]) -> set[tuple[str, int]]:
    """Return the positions of texts that a shell runs: after `bash -c`, or scripts if the image may have a shell."""
    places = [*(("command", index) for index in range(len(command))), *(("args", index) for index in range(len(args)))]
    words = [*command, *args]
    shell = next((at for at, word in enumerate(words[:4]) if word.rpartition("/")[2] in SHELLS), None)
    if shell is None:
        return {("args", at) for at, text in enumerate(args) if not command and OPERATORS.search(text) and " " in text}
    given = False
    for at in range(shell + 1, len(words)):
        if given and not words[at].startswith(("-", "+")) and words[at] != "pipefail":
            return {places[at]}
        given = given or bool(re.fullmatch(r"-[a-zA-Z]*c[a-zA-Z]*", words[at]))
    return set()


def _is_open(text: str, known: frozenset[str], *, is_script: bool) -> bool:
    text = text[:MAX_LENGTH]
    if LEFT_OPEN.fullmatch(text.strip()) or MARK.search(text) or ADDRESS.search(text):
        return True
    if any(found[1].lower() not in SPECIAL_TOKENS for found in ANGLED.finditer(text)):
        return True
    if is_script:
        return bool(SQUARE_WORDS.search(text)) or _is_open_script(text, known)
    if SQUARE.search(text) or BRACED.search(text) or NAMED.search(text):
        return True
    if any(not _is_set(found[1], known) for found in CALLED.finditer(text)):
        return True
    return bool(FILLER.fullmatch(text) or FILLER.fullmatch(text.partition("=")[2]))


def _is_set(name: str, known: frozenset[str]) -> bool:
    return name in known or SERVICE.fullmatch(name) is not None


def _is_open_script(text: str, known: frozenset[str]) -> bool:
    """Return whether a shell text uses a variable that nothing sets, or contains a placeholder word."""
    assigned = {
        name for found in ASSIGNED.finditer(text) for group in found.groups() if group for name in group.split()
    }
    known |= assigned
    if any(not _is_set(name, known) for name in _expanded(text)):
        return True
    for found in WORD.finditer(text):
        introduced = text[found.end() : found.end() + 1] == "=" or INTRODUCED.search(
            text[max(0, found.start() - 20) : found.start()]
        )
        if FILLER.fullmatch(found[0]) and found[0] not in known and not introduced:
            return True
    return False


def _expanded(text: str) -> Iterator[str]:
    """Yield the names of variables that a shell would expand, including ${NAME} in single quotes."""
    single = double = False
    for found in EXPANSION.finditer(text):
        if found[0] == "'" and not double:
            single = not single
        elif found[0] == '"' and not single:
            double = not double
        elif found[2] is not None and not single:
            yield found[2]
        elif found[1] is not None:
            parameter = PARAMETER.fullmatch(found[1])
            if parameter is None and not re.fullmatch(r"[#!]?[0-9@*#?!$_-].*", found[1]):
                yield found[1]
            elif parameter is not None and not parameter[2].startswith(DEFAULTED):
                yield parameter[1] if re.fullmatch(r"|\[.*|[:#%/^,@?].*", parameter[2], re.DOTALL) else found[1]
