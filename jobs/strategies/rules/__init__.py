"""The rules of every job, whatever its strategy, one module per subject; `jobs.strategies.rule_lists` lists all."""
