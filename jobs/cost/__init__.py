"""What a job costs: the price book, estimates before it runs, and what it has cost while it runs."""
