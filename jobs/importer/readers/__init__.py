"""One reader for each format: what it describes becomes drafts of jobs."""
