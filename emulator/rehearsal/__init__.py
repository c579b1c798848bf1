"""Decided on demand, not by chance: who plays a job (cast, scripts), told lives (stories), broken requests (faults)."""
