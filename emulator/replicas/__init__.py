"""Replicas as local processes: what to run (launch), with which variables (cluster), watched by whom (guard)."""
