"""The REST API under /api/v1/ for programs with a token. Data, permissions and assessment are those of the pages."""
