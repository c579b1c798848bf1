"""What is done to the site from a terminal: running it here, and filling it with something to look at."""
