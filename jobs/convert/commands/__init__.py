"""Commands of a shell: gcloud and curl, read without running anything."""
