"""Readers, one for each format, which return drafts of jobs."""
