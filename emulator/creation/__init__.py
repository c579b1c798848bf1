"""From a create call to a record: what is checked (checks), and the new record (factory)."""
