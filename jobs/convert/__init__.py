"""Jobs as text: reads gcloud YAML, REST JSON, gcloud and curl commands and SDK Python, and writes each of them.

`read_text` recognises the format and never raises; `write` loses nothing that matters in the format.
"""

from jobs.convert.texts.reading import Reading, read_text
from jobs.convert.writers.formats import FORMATS, Format, NotWritable, formats_for, write

__all__ = ["FORMATS", "Format", "NotWritable", "Reading", "formats_for", "read_text", "write"]
