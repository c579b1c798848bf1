"""Replicas as local processes: commands (launch, images), variables (cluster), their run (process_runner, guard)."""
