"""What an estimate rests on, and how often earlier ones held, in sentences for people."""

from jobs.cost.learned import Learned

RANGE = (
    "Low and high are the 5th and the 95th percentile: 9 of 10 such jobs that succeed should cost an amount between."
)


def basis_of(label: str, learned: Learned, *, is_preemptible: bool) -> tuple[str, ...]:
    """Return what the range rests on, what it means, and how often earlier ranges held; `label` is the strategy's."""
    return (_rests_on(label, learned, is_preemptible=is_preemptible), RANGE, *_calibration(label, learned))


def _rests_on(label: str, learned: Learned, *, is_preemptible: bool) -> str:
    prior = "the documented rate of preemptions" if is_preemptible else "half to twice the run time that is expected"
    alike, team = learned.alike, learned.team
    since = f" since {learned.since:%B %Y}" if learned.since else ""
    if alike.runs:
        jobs = f"{alike.runs} of your team's {learned.machine} {label} jobs in {learned.region}{since}"
        more = f" and {team.runs - alike.runs} others under {label}" if team.runs > alike.runs else ""
        return f"Rests on {jobs}{more}, with {prior} as prior."
    if team.runs:
        jobs = f"{team.runs} of your team's {label} jobs{since}, on other machines or in other regions"
        return f"Rests on {jobs}, with {prior} as prior."
    return f"Rests on no jobs of your team yet: on {prior}{_and_run_time(is_preemptible)}."


def _and_run_time(is_preemptible: bool) -> str:
    return " and half to twice the run time that is expected" if is_preemptible else ""


def _calibration(label: str, learned: Learned) -> tuple[str, ...]:
    """Say how often the team's jobs under the strategy cost what their range said; nothing before the first."""
    held, of = learned.team.inside, learned.team.estimated
    if not of:
        return ()
    share = f"{held} of {of} ({held / of:.0%})"
    return (f"Calibration: {share} earlier {label} jobs of your team that succeeded cost what their range said.",)
