"""Recognise names of secrets, and values under such names that are not secrets."""

import re
from functools import lru_cache

WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
ALWAYS = frozenset(
    "PASSWORD PASSWORDS PASSWD PASSPHRASE PASSCODE SECRET SECRETS CREDENTIAL CREDENTIALS CREDS APIKEY PWD".split()
)
"""A name with one of these words is a secret's."""
JOINED = re.compile(
    r"(?:password|passwd|secret|apikey|accesskey|(?<!auth)token|authtoken"
    r"|(?:db|sql|pg|my|user|root|admin|smtp|mail|ftp|redis|mongo|rabbit)pass)\Z",
    re.IGNORECASE,
)
"""Names whose words are not separated, such as `dbpassword`; `tokenizer` and `bypass` do not match."""
ENCODINGS = (("B", "64"), ("BASE", "64"), ("HEX",), ("PEM",), ("JSON",), ("ENCODED",), ("RAW",), ("STR",), ("STRING",))
"""Last words that name an encoding; `PRIVATE_KEY_B64` is a name that ends with KEY."""
PLAIN_ENDS = frozenset("AUTH AUTHORIZATION BEARER COOKIE COOKIES JWT PASS PAT PW SIG SIGNATURE TOKENS".split())
"""A name that ends with one of these words is a secret's, unless the word before belongs to another meaning."""
OTHER_PLAIN = frozenset(
    "NO USE ENABLE REQUIRE SKIP DISABLE WITH NEED FIRST SECOND THIRD FORWARD BACKWARD SINGLE MULTI LOW HIGH BAND TEST "
    "DRY BY ONE TWO MODEL TF METHOD FUNCTION SERVING".split()
)
"""`--forward-pass` and `--serving-signature` are about no secret."""
MAY_BE_WORDS = PLAIN_ENDS - {"PASS", "PW"}
"""Under names that end with these words a plain word, or words and numbers, is a setting: `--auth=oauth`."""
SECRET_KEYS = frozenset(
    "API ACCESS SECRET PRIVATE AUTH ENCRYPTION SIGNING SHARED ACCOUNT LICENSE MASTER SERVICE SSH DEPLOY STORAGE".split()
)
"""A name that ends with one of these words and KEY is always a secret's."""
OTHER_KEYS = frozenset(
    "SORT PRIMARY FOREIGN PARTITION FEATURE LABEL IMAGE TEXT METRIC INDEX CACHE GROUP JOIN PUBLIC COLUMN DATA TARGET "
    "INPUT OUTPUT LOOKUP DICT KMS CONFIG STATE SPLIT MAP OBJECT DOC".split()
)
"""A name that ends with one of these words and KEY is not a secret's."""
OTHER_TOKENS = frozenset(
    "PAD EOS BOS UNK MASK SEP CLS SPECIAL STOP START END PER NEXT MAX MIN NUM NEW PAGE IMAGE TEXT PROMPT IGNORE BLANK "
    "TRIGGER INSTANCE PLACEHOLDER TOTAL TRAIN TRAINING EVAL INPUT OUTPUT CONTEXT LABEL VOCAB BATCH WARMUP SEEN "
    "COMPLETION GENERATED ADD ADDED EXTRA SKIP BAD FORCED SUPPRESS CHUNK CONTROL N OF".split()
)
"""A name that ends with one of these words and TOKEN is about a token of text, not a secret."""
ENDS = frozenset(
    "FILE PATH DIR FOLDER NAME COLUMN COLUMNS FIELD COUNT LENGTH LEN SIZE LIMIT TYPE VERSION ENABLED EXPIRY TTL "
    "REGION PROJECT MANAGER RESOURCE REF INDEX IDS BUDGET RATE DIM TYPES POLICY".split()
)
"""A name with one of these last words is not a secret's."""
NUMBERS_COUNT = frozenset("PASSWORD PASSWD PASSPHRASE PASSCODE PASS PW PWD SECRET".split())
"""Under these names a number is a secret too."""
MIN_NUMBER_LENGTH = 4
NOTHING = frozenset("true false yes no on off none null nil undefined 0 1 default auto".split())
NUMBER = re.compile(r"[-+]?[0-9][0-9_.,]*(?:e[-+]?[0-9]+)?[a-z%]{0,2}", re.IGNORECASE)
REFERENCE = re.compile(
    r"\$\([^()]*\)|\$\{[^{}]*\}|\$[A-Za-z_]\w*|<[^<>]*>|\{\{[^{}]*\}\}|projects/[^/]+/secrets/[^\s]+|sm://\S+|\*+|•+|x{3,}",
    re.IGNORECASE,
)
"""References to a value kept elsewhere: a variable, a placeholder, a name in Secret Manager."""
ADDRESS = re.compile(r"(?:gs|s3|https?|file|hdfs|gcs)://[^\s@]*", re.IGNORECASE)
PATH = re.compile(
    r"(?:~|\.{1,2})?/[\w.@%+=-]+(?:/[\w.@%+=-]+)*/?|[\w.-]+(?:/[\w.-]+)*\.(?:json|pem|key|txt|ya?ml|env|crt|csv)"
)
IDENTIFIER = re.compile(r"[a-z]+(?:[_.-][a-z]+)*|[A-Z]+(?:_[A-Z]+)*|[A-Za-z]{1,12}")
"""A plain word, such as a column name."""
SETTING = re.compile(r"[a-z]+(?:[-_.](?:[a-z]+|[0-9]{1,6}[a-z]?))+|oauth2?|saml2?", re.IGNORECASE)
"""Words and numbers, such as `wikitext-103`."""


def words_of(name: str) -> list[str]:
    """Return the words of a name in capitals, without how it is written: `--wandb.apiKey_2` has WANDB, API, KEY."""
    words = [word.upper() for word in WORDS.findall(name)]
    for ending in ENCODINGS:
        if len(words) > len(ending) and tuple(words[-len(ending) :]) == ending:
            words = words[: -len(ending)]
    while len(words) > 1 and words[-1].isdigit():
        words.pop()
    return words


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Return whether a variable or flag of this name usually holds a secret."""
    words = words_of(name)
    if not words or words[-1] in ENDS:
        return False
    if ALWAYS & set(words) or words[-3:] == ["ACCESS", "KEY", "ID"]:
        return True
    before = words[-2] if len(words) > 1 else ""
    if words[-1] in ("TOKEN", "TOKENS"):
        return before not in OTHER_TOKENS
    if words[-1] in PLAIN_ENDS:
        return before not in OTHER_PLAIN
    if words[-1] == "KEYS":
        return before in SECRET_KEYS
    if words[-1] == "KEY":
        return before not in OTHER_KEYS
    return JOINED.search(words[-1]) is not None


def is_secret_value(name: str, value: str) -> bool:
    """Return whether `value` may be the secret that the name suggests.

    Switches, numbers, paths, addresses and references are not secrets.
    """
    value = value.strip().strip("\"'")
    if value.lower() in NOTHING or len(value) < 3 or REFERENCE.fullmatch(value) or ADDRESS.fullmatch(value):
        return False
    words = words_of(name)
    if NUMBER.fullmatch(value):
        return bool(NUMBERS_COUNT & set(words)) and len(value) >= MIN_NUMBER_LENGTH
    if PATH.fullmatch(value) and len(value) != AWS_SECRET_LENGTH:
        return False
    if words[-1] in MAY_BE_WORDS:
        return IDENTIFIER.fullmatch(value) is None and SETTING.fullmatch(value) is None
    if ALWAYS & set(words) or (len(words) > 1 and words[-2] in SECRET_KEYS) or words[-1] != "KEY":
        return True
    return IDENTIFIER.fullmatch(value) is None  # a name that is only KEY may be the name of a field


AWS_SECRET_LENGTH = 40
"""Length of an AWS secret access key, which may begin with a slash."""
