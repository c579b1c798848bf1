"""Commands for a terminal: run the site on this machine, maintain it, and create demo data."""
