"""What is decided on demand, not by chance: who plays a job (cast), told lives (stories), broken requests (faults)."""
