"""Render jobs as text in each export format."""

from jobs.exporter.formats import FORMATS, write
from jobs.exporter.write_gcloud import NotWritable

__all__ = ["FORMATS", "NotWritable", "write"]
