"""Jobs as text: reads gcloud YAML, REST JSON, gcloud and curl commands and SDK Python, and writes each of them.

`read_text` recognises the format and never raises; `write` loses nothing that matters in the format.
"""

from jobs.convert.texts.read import Reading
from jobs.convert.texts.reading import read_text
from jobs.exporter.formats import FORMATS, Format, formats_for, write
from jobs.exporter.write_gcloud import NotWritable

__all__ = ["FORMATS", "Format", "NotWritable", "Reading", "formats_for", "read_text", "write"]
