"""Converts a job as people write it into what the API accepts."""
