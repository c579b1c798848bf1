"""Writes jobs as text in each format."""

from jobs.exporter.formats import FORMATS, write
from jobs.exporter.write_gcloud import NotWritable

__all__ = ["FORMATS", "NotWritable", "write"]
