"""Import jobs from text: gcloud YAML, REST JSON, gcloud and curl commands, and SDK Python.

`read_text` detects the format and never raises. The steps are: detect, read, normalize, check against the spec.
"""

from jobs.importer.detect import MAX_BYTES
from jobs.importer.nodes import SOURCE
from jobs.importer.reading import read_text
from jobs.importer.result import Reading

__all__ = ["MAX_BYTES", "SOURCE", "Reading", "read_text"]
