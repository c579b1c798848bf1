"""All tests: `unit` needs nothing, `domain` and `pages` a database, `journeys` the whole running site."""
