"""Turn a create call into a record: check the request (checks) and create the record (factory)."""
