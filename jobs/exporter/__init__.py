"""Writes jobs as text in each format."""

from jobs.exporter.formats import FORMATS, Format, write
from jobs.exporter.write_gcloud import NotWritable

__all__ = ["FORMATS", "Format", "NotWritable", "write"]
