"""Machines, quotas and persistent resources: demand, inventory, lending, allocation to jobs, and capacity changes."""
