"""Machines, quotas, persistent resources: what is asked for (demand), held (ledger), lent (pools), given (grants)."""
