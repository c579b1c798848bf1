"""Read models: what pages show, read in a bounded number of queries that are named in each docstring."""
