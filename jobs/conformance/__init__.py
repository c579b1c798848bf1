"""Experiments that prove, on a real project, what Trainboard believes about Vertex AI. See docs/conformance.md."""

from jobs.conformance.catalogue import EXPERIMENTS, GROUPS
from jobs.conformance.cleaning import clean_up
from jobs.conformance.experiments import Experiment
from jobs.conformance.journal import Journal
from jobs.conformance.lab import LABEL, CannotRun, Clock, Desk, Site, new_run
from jobs.conformance.private import Scrubber
from jobs.conformance.recording import Recording, Unreadable, read
from jobs.conformance.replay import Replayed, describe, replay
from jobs.conformance.run import check_all, check_budget, most_of, run, spent, summary
from jobs.conformance.spending import OverBudget, RunBudget

__all__ = [
    "EXPERIMENTS",
    "GROUPS",
    "LABEL",
    "CannotRun",
    "Clock",
    "Desk",
    "Experiment",
    "Journal",
    "OverBudget",
    "Recording",
    "Replayed",
    "RunBudget",
    "Scrubber",
    "Site",
    "Unreadable",
    "check_all",
    "check_budget",
    "clean_up",
    "describe",
    "most_of",
    "new_run",
    "read",
    "replay",
    "run",
    "spent",
    "summary",
]
