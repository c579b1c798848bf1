"""The REST API under /api/v1/: the same rows, rights and assessment as the pages, for programs with a token."""
