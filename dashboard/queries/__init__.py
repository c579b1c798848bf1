"""Read models of the pages. Each docstring has the number of queries, which is bounded."""
