"""The rules of every job, whatever its strategy, a module for each subject; `jobs.strategies.rule_lists` has all."""
