"""From a create call to a record: what its text is refused for (checks), then quota, persistent resource (intake)."""
