"""How numbers are written: in every language as the API and gcloud take them, so that they can be copied."""
