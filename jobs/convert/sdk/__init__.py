"""Python that uses google-cloud-aiplatform: parsed, never run."""
