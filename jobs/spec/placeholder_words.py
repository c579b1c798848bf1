"""Words and addresses that are placeholders even in text that may contain capitals.

Source: the samples of Google's training pages and 539 published specs, read 2026-11-22.
"""

import re

NOUNS = (
    "ID IDS NAME NAMES URI URIS URL PATH DIR DIRECTORY FOLDER BUCKET KEY TOKEN SECRET PASSWORD ADDRESS IP "
    "EMAIL PROJECT REGION LOCATION ZONE TAG COMMAND COMMANDS MODULE ARG ARGS ARGUMENT ARGUMENTS HOST PORT "
    "USERNAME ACCOUNT ENDPOINT POINT FILE FILENAME PREFIX SCRIPT PACKAGE PROJECT_NUMBER REPLICA_COUNT "
    "MACHINE_TYPE ACCELERATOR_TYPE DISK_TYPE CONTAINER_IMAGE DOCKER_IMAGE "
).split()
FILLER = re.compile(
    r"(?=[A-Z0-9_-]{2,80}\Z)(?:(?:YOUR|MY)[_-][A-Z0-9_-]+"
    rf"|[A-Z][A-Z0-9]*[_-](?:[A-Z0-9]+[_-])*(?:{'|'.join(NOUNS)})(?:[_-]?[0-9N])?"
    r"|ARG(?:UMENT)?S?[_-]?[0-9N]|BUCKET|PROJECT|PROMPT|COMMAND|ARGS|PLACEHOLDER|CHANGEME|TODO|FIXME|TBD)"
)
"""A whole word such as YOUR_KEY, DATASET_ID or CUSTOM_CONTAINER_ARGS; SPOT, INFO and NVIDIA_TESLA_T4 do not match."""
ADDRESS = re.compile(
    r"(?:gs:/|(?<!\w)/gcs)/[a-z0-9._-]{0,63}[A-Z]"
    r"|\b(?:gcr\.io|pkg\.dev)/(?:[a-z0-9._-]{1,64}/){0,4}[A-Z][A-Z0-9_-]+(?=[/:@\s\"']|\Z)"
    r"|\b(?:projects|locations|buckets)/[A-Z][A-Z0-9_-]+(?=[/\s\"']|\Z)"
    r"|(?:^|[=/:,.@\s\"'])your[-_][a-z0-9]"
)
"""Addresses whose bucket, project or location is in capitals, and names such as your-bucket."""
LEFT_OPEN = re.compile(
    r"\.{3}|\u2026|<[^<>\n]*>|x{3,}|todo|fixme|tbd|change[_-]?me|fill[_-]?me|(?:replace|enter|insert)[_ -].*|replaceme",
    re.IGNORECASE,
)
"""Whole values that are placeholders."""
