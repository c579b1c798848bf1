"""Demo data for one machine: people to sign in as, teams and jobs."""
