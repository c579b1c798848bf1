"""What may notice that a guard is gone, the cheapest first; and the guards that are left out, each with its reason."""

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from tests.mutants.guards import Guard

MAX_SECONDS = 900
"""A judge that takes longer has noticed: without the guard, something never ends."""


@dataclass(frozen=True, slots=True)
class Judge:
    """A command that fails if it notices. With `on_postgres` its tests use the server of the tests."""

    name: str
    arguments: tuple[str, ...]
    on_postgres: bool = False

    def notices(self, copy: Path) -> bool:
        """Run it in a copy of the repository; return whether it failed, was killed or never ended."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("TRAINBOARD_")}
        environment |= {"DATABASE_URL": "", "PYTHONDONTWRITEBYTECODE": "1"}  # the next mutant may have the same time
        environment |= {"TRAINBOARD_TEST_POSTGRES": "1"} if self.on_postgres else {}
        command = [sys.executable, "-m", *self.arguments]
        try:
            done = subprocess.run(
                command, cwd=copy, env=environment, capture_output=True, timeout=MAX_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return True
        return done.returncode != 0


def of_tests(*paths: str, on_postgres: bool) -> Judge:
    """Return the judge of some test modules, whose paths begin below `tests`."""
    words = ", ".join(Path(path).stem.removeprefix("test_") for path in paths)
    options = ("-q", "-x", "-p", "no:cacheprovider")
    where = " on PostgreSQL" if on_postgres else ""
    return Judge(f"tests of {words}{where}", ("pytest", *options, *(f"tests/{path}" for path in paths)), on_postgres)


PROTOCOL = Judge("protocol, 600 seeds", ("tests.simulation", "--protocol", "--seeds", "600", "--processes", "1"))
SITE = Judge("site, 30 seeds", ("tests.simulation", "--seeds", "30", "--processes", "1"))
SITE_ON_POSTGRES = Judge(
    "site on PostgreSQL, 20 seeds", ("tests.simulation", "--seeds", "20", "--processes", "1"), on_postgres=True
)
DECISIONS = of_tests("unit/test_submission_decisions.py", on_postgres=False)
SUBMISSION = of_tests(
    "domain/test_store_rows.py", "domain/test_unmatched_rows.py", "domain/test_submit.py",
    "domain/test_exactly_once.py", "domain/test_repeated_steps.py", on_postgres=False,
)  # fmt: skip
IDENTITY = of_tests("domain/test_identity.py", on_postgres=False)
QUEUE = of_tests(
    "domain/test_queue.py", "domain/test_claims.py", "domain/test_isolation.py", "domain/test_clock_steps.py",
    on_postgres=False,
)  # fmt: skip
STAGES = of_tests("domain/test_stage_rows.py", "domain/test_idle_stages.py", "domain/test_stages.py", on_postgres=False)
STANDBY = of_tests("domain/test_standby.py", "domain/test_claims.py", on_postgres=True)
LOCKS = of_tests(
    "domain/test_row_locks.py", "domain/test_fallback_races.py", "domain/test_schedules.py", on_postgres=True
)
ROW_LOCKS = of_tests("domain/test_row_locks.py", on_postgres=True)
DATABASE = of_tests("domain/test_database.py", on_postgres=False)
WATCHED = of_tests("domain/test_watched_rows.py", on_postgres=False)
SCHEDULES = of_tests(
    "domain/test_schedule_rows.py", "domain/test_schedules.py", "domain/test_times_ahead.py", on_postgres=False
)
RACES = of_tests("domain/test_concurrency.py", on_postgres=True)
ANSWERS = of_tests(
    "domain/test_recorded_rows.py", "domain/test_recorded_jobs.py", "domain/test_odd_answers.py",
    "domain/test_observe.py", on_postgres=False,
)  # fmt: skip
RESTARTS = of_tests(
    "domain/test_quick_restarts.py", "domain/test_restarts.py", "domain/test_recorded_order.py", on_postgres=False
)
CHILDREN = of_tests(
    "domain/test_custom_jobs.py", "domain/test_trials.py", "domain/test_trial_time.py", "domain/test_kinds.py",
    on_postgres=False,
)  # fmt: skip
REST_OF_OBSERVING = of_tests(
    "domain/test_outages_and_limits.py", "domain/test_cadence.py", "domain/test_feeds.py", "domain/test_isolation.py",
    "domain/test_adopt.py", "domain/test_discovery.py", "domain/test_log_turns.py", "domain/test_delete.py",
    on_postgres=False,
)  # fmt: skip
JUDGES: dict[str, tuple[Judge, ...]] = {
    "jobs/observation/restarts.py": (RESTARTS, ANSWERS, CHILDREN),
    "jobs/observation/child_jobs.py": (CHILDREN, RESTARTS, REST_OF_OBSERVING),
    "jobs/observation/trial_jobs.py": (CHILDREN, ANSWERS, RESTARTS, REST_OF_OBSERVING),
    "jobs/observation/*.py": (ANSWERS, RESTARTS, CHILDREN, REST_OF_OBSERVING),
    "jobs/upkeep/start_repair.py": (of_tests("domain/test_start_repair.py", on_postgres=False), ROW_LOCKS),
    "jobs/submission/delete.py": (DECISIONS, of_tests("domain/test_delete.py", on_postgres=False), ROW_LOCKS),
    "jobs/submission/resource_changes.py": (
        of_tests(
            "domain/test_resource_steps.py",
            "domain/test_resource_changes.py",
            "domain/test_resource_lifetimes.py",
            "domain/test_resource_makers.py",
            on_postgres=False,
        ),
    ),
    "jobs/submission/reassessment.py": (
        SUBMISSION,
        of_tests("domain/test_ask_again.py", "domain/test_known_resources.py", on_postgres=False),
    ),
    "jobs/submission/adapters.py": (SUBMISSION, ROW_LOCKS, RACES, SITE, SITE_ON_POSTGRES),
    "jobs/submission/unmatched.py": (SUBMISSION, SITE),
    "jobs/submission/found_spec.py": (DECISIONS, IDENTITY),
    "jobs/submission/*.py": (DECISIONS, PROTOCOL, SUBMISSION, IDENTITY, SITE),
    "jobs/queue/*.py": (QUEUE, SUBMISSION, STANDBY, SITE),
    "jobs/transitions.py": (
        of_tests("domain/test_transitions.py", "domain/test_aside.py", on_postgres=False),
        ROW_LOCKS,
        RACES,
        SITE,
        SITE_ON_POSTGRES,
    ),
    "jobs/steps.py": (QUEUE, SUBMISSION, PROTOCOL, STANDBY, SITE),
    "jobs/stages.py": (STAGES, QUEUE, SITE),
    "jobs/models/job.py": (QUEUE, DATABASE, SUBMISSION, SITE),
    "jobs/models/polling.py": (QUEUE, DATABASE, of_tests("domain/test_observe.py", on_postgres=False), SITE),
    "jobs/upkeep/repair.py": (of_tests("domain/test_repair.py", on_postgres=False), QUEUE, SITE),
    "jobs/upkeep/approvals.py": (WATCHED, of_tests("domain/test_approval_times.py", on_postgres=False), LOCKS, SITE),
    "jobs/upkeep/caps.py": (WATCHED, of_tests("domain/test_caps.py", on_postgres=False), SITE),
    "jobs/upkeep/spending.py": (
        of_tests("domain/test_actual_costs.py", "domain/test_caps.py", on_postgres=False),
        SITE,
    ),
    "jobs/upkeep/fallbacks.py": (WATCHED, of_tests("domain/test_fallbacks.py", on_postgres=False), SITE),
    "jobs/requests/fallbacks.py": (WATCHED, of_tests("domain/test_fallbacks.py", on_postgres=False), LOCKS, SITE),
    "jobs/upkeep/schedules.py": (SCHEDULES, SITE),
    "jobs/requests/schedule_runs.py": (SCHEDULES, LOCKS, SITE),
    "jobs/messages/*.py": (
        of_tests("domain/test_messages.py", "domain/test_message_delivery.py", on_postgres=False),
        SITE,
    ),
    "jobs/models/*.py": (DATABASE,),
}
"""From a pattern of paths to the judges of its guards, in the order of asking. The first pattern counts."""

FEW_SEEDS = Judge("protocol, 200 seeds", ("tests.simulation", "--protocol", "--seeds", "200", "--processes", "1"))
FEW_TESTS = Judge(
    "tests of claims, restores and stalls",
    (
        *("pytest", "-q", "-x", "-p", "no:cacheprovider"),
        *("tests/domain/test_queue.py", "tests/domain/test_exactly_once.py", "tests/domain/test_transitions.py"),
        *("tests/domain/test_identity.py", "-k"),
        "another_worker_holds or claim_that_has_expired or another_server or events_are_gone or recorded_late"
        " or lagging_list",
    ),
)
QUICK = {
    "jobs/submission/submit.py submit.submit 50b3bf": FEW_SEEDS,  # a request in doubt is looked up
    "jobs/submission/submit.py submit.absent.decide 92570f": FEW_TESTS,  # a list may lack a job for a while
    "jobs/submission/adapters.py adapters.apply 2b476a": FEW_TESTS,  # the claim has not expired
    "jobs/models/job.py job.due 65a9eb": FEW_TESTS,  # no other worker holds the job
    "jobs/queue/installation.py installation.mark_restored 4df341": FEW_TESTS,  # what was not sent is marked
    "jobs/queue/installation.py installation.load_trust a70cbc": FEW_TESTS,  # another server is noticed
    "jobs/transitions.py transitions._write 9c1996": FEW_TESTS,  # the state is the one that was read
}
"""The sample that belongs to the tests: two cores judge it within two minutes."""

LEFT_OUT = {
    "jobs/models/job.py job.with_silence *": "a mark on pages only",
    "jobs/queue/rate_limit.py *": "it keeps calls within Google's quota and decides nothing about a job",
    "jobs/queue/installation.py * 29f588": "pk=1 in a table of one row",
    "jobs/queue/installation.py * a2c25b": "pk=1 in a table of one row",
    "jobs/steps.py steps.begin_sweep 3d40e1": "pk=1 in a table of one row",
    "jobs/queue/claims.py * 8a3287": "the claim beside it names the row; the key finds it without a scan",
    "jobs/stages.py stages._run 91bb86": "the claim beside it names the row; the key finds it without a scan",
    "* start_repair.undecided_starts 5a22e6": "the reason beside it tells it apart; the key finds it without a scan",
    "* adapters.claim cbaeae": "the claim beside it names the row; the key finds it without a scan",
    "* reassessment.save_price_snapshot 278581": "the claim beside it names the row; the key finds it without a scan",
    "* reassessment.reassess 6061e6": "where no ceiling is to be kept, it saves the lock of the team",
    "* resource_changes._held 5492e7": "the claim beside it names the row; the key finds it without a scan",
    "* record.mark_seen e7f588": "it writes fewer rows; known ones are left out once more",
    "* installation.owner_instance f42935": "an empty text is false in any case",
    "* steps.due_jobs 0dc392": "an idle sweep asks one cheap question",
    "* transitions._events 993198": "it reads fewer events; passing ones are left out once more",
    "* cancel.taken *": "it chooses only the words of an event",
    "* approvals._remind e5dda9": "it chooses only the words of a reminder",
    "* approvals._remind 0c4909": "it chooses only the words of a reminder",
    "* repair._times_too_late fd4e29": "a line of the log",
    "* repair._times_too_late 7ea166": "it saves updates that change nothing; each has its own terms",
    "* schedules.due_schedules 25c3d6": "a paused schedule has no next time; the index holds only the others",
    "* caps._watch 1d4b60": "the event is recorded once in any case; this saves a transaction in each sweep",
    "* repair._release_and_record 2aaef4": "the claim beside it names the row; the key finds it without a scan",
}
"""From a pattern of `name` to the reason why nobody is asked about those guards."""


def name(guard: Guard) -> str:
    """Return what the patterns of LEFT_OUT and the options match."""
    if guard.kind == "unique constraint":
        return f"{guard.path} {guard.kind} {guard.code}"
    return f"{guard.path} {guard.key}"


def reason(guard: Guard) -> str:
    """Return why a guard is left out, or ""."""
    return next((why for pattern, why in LEFT_OUT.items() if fnmatch(name(guard), pattern)), "")


def judges_of(guard: Guard) -> tuple[Judge, ...]:
    """Return who is asked about a guard, in order."""
    return next(judges for pattern, judges in JUDGES.items() if fnmatch(guard.path, pattern))


def first_to_notice(copy: Path, judges: tuple[Judge, ...]) -> tuple[str, float]:
    """Return the name of the first judge that notices something in a copy, or "", and the seconds it took."""
    began = time.monotonic()
    found = next((judge.name for judge in judges if judge.notices(copy)), "")
    return found, time.monotonic() - began
