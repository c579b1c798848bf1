"""Machines and quotas: what a job needs (demand), what there is and who holds it (ledger), who gets it (grants)."""
