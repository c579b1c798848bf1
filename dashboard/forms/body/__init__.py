"""Between fields and the REST body: one table of both names, read in either direction."""
