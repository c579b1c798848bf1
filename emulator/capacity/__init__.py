"""Machines, quotas, persistent resources: demand, inventory, lending and allocation to jobs, and how they change."""
