"""Replicas as local processes: commands (launch, images), variables (cluster), execution (process_runner, guard)."""
