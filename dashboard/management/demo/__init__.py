"""Something to look at on one machine: people to sign in as, teams and jobs."""
