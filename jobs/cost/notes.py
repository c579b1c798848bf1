"""Notes of an estimate: the effect of trials, restarts and the timeout, and the basis of its range."""

import math
from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from functools import reduce
from typing import Any

from jobs.cost.actual import HOUR
from jobs.cost.advice import PreemptionRates
from jobs.cost.forecast import Forecast
from jobs.cost.learned import MILLI, Learned
from jobs.cost.lines import Rate
from jobs.cost.money import format_usd
from jobs.cost.restarts import CHECKPOINT_HOURS, Outlook
from jobs.cost.trials import rounds
from jobs.spec import Submission
from jobs.strategies import Strategy
from jobs.strategies.rules.scheduling import DEFAULT_TIMEOUT
from jobs.texts import Text, joined
from jobs.texts import translatable as _

HARDLY_ANY = 0.05
"""Preemptions; fewer would be shown as 0.0."""
MIN_CHANCE = 0.0001
"""A lower chance would be shown as 0.00%."""
MAX_SHOWN_USD = 10**12
"""Higher costs, of a job that nobody would run, are not written in sentences."""
RANGE = _(
    "Low and high are the 5th and the 95th percentile: 9 of 10 such jobs that succeed should cost an amount between."
)


def tuning_notes(submission: Submission, hours: float, billed_hours: float) -> list[str]:
    """Return notes on how a tuning job's time and cost result from its trials, and what may reduce them."""
    tuning = submission.tuning
    if tuning is None:
        return []
    trials, parallel = submission.trials, submission.parallel_trials
    count = rounds(trials, parallel)
    words = {"trials": trials, "time": in_words(hours), "parallel": parallel}
    note = _("%(trials)s trials of %(time)s each, %(parallel)s at a time; every trial is billed.", **words)
    if math.isfinite(billed_hours):
        times = _("%(count)s rounds", count=count) if count > 1 else _("one round")
        words = {"rounds": times, "time": in_words(billed_hours * count)}
        note = joined(note, _("In %(rounds)s they take about %(time)s. A waiting trial costs nothing.", **words))
    failed = tuning.max_failed_trial_count
    study = tuning.study_spec
    stops = (
        study.decay_curve_stopping_spec,
        study.median_automated_stopping_spec,
        study.convex_automated_stopping_spec,
    )
    less = [_("trials that are stopped early")] if any(stop is not None for stop in stops) else []
    less += [_("an end after %(count)s failed trials", count=failed)] if failed > 0 else []
    if not less:
        return [note]
    ways = reduce(lambda some, last: _("%(some)s or %(last)s", some=some, last=last), less)
    return [note, _("It costs less with %(ways)s.", ways=ways)]


def timeout_notes(submission: Submission, expected: timedelta, timeout: timedelta | None, high: float) -> list[str]:
    """Return notes on how the timeout limits the range, which else ends at `high` hours; each trial has its own."""
    is_trial = submission.tuning is not None
    applies = timeout or DEFAULT_TIMEOUT
    if expected > applies:
        what, time = _("each trial") if is_trial else _("the job"), in_words(applies / HOUR)
        if timeout:
            return [_("The timeout ends %(what)s after %(time)s, before the expected end.", what=what, time=time)]
        return [_("The default timeout ends %(what)s after %(time)s, before the expected end.", what=what, time=time)]
    if timeout and timeout / HOUR == high:
        time = in_words(timeout / HOUR)
        if is_trial:
            return [_("The upper end is that every trial runs until the timeout, after %(time)s.", time=time)]
        return [_("The upper end is a run until the timeout, after %(time)s.", time=time)]
    return []


def restart_notes(found: Forecast, hours: float, allowed: int, submission: Submission, learned: Learned) -> list[str]:
    """Return notes on the assumed preemptions, and the chance that they end the job or a trial."""
    if found.outlooks is None:
        return []
    least, middle, most = found.outlooks
    few, _middle, many = found.assumptions
    assumed = _(
        "%(basis)s: %(low)s to %(high)s of the machines are preempted within a day, each restart loses %(few)s to "
        "%(many)s minutes, and the training saves a checkpoint every %(interval)s, which takes %(checkpoint)s minute.",
        basis=_basis(learned),
        low=_percent(few.daily_share),
        high=_percent(many.daily_share),
        few=f"{few.restart * 60:.0f}",
        many=f"{many.restart * 60:.0f}",
        interval=in_words(min(middle.interval_hours, hours)),
        checkpoint=f"{CHECKPOINT_HOURS * 60:.0f}",
    )
    if not math.isfinite(middle.billed_hours):
        return [assumed, _("With that many machines it would almost never finish.")]
    words = {"billed": in_words(middle.billed_hours), "preemptions": _preemptions(middle)}
    gone = {"limit": allowed, "chance": _chance(1 - least.survival, 1 - most.survival)}
    if submission.tuning is None:
        return [
            assumed,
            _("With %(preemptions)s, the job is billed for about %(billed)s.", **words),
            _("The chance of more than %(limit)s preemptions, after which Vertex AI gives the job up, is %(chance)s.",
              **gone),
        ]  # fmt: skip
    trials = submission.trials
    return [
        assumed,
        _("With %(preemptions)s, each trial is billed for about %(billed)s.", **words),
        _(
            "The chance of more than %(limit)s preemptions, after which Vertex AI gives the trial up, is %(chance)s "
            "for each trial and %(any)s for any of the %(trials)s. The others go on.",
            **gone,
            any=_chance(1 - least.survival**trials, 1 - most.survival**trials),
            trials=trials,
        ),
    ]


def _basis(learned: Learned) -> Text:
    if learned.machines.machine_seconds:
        return _("By your jobs")
    return _("Assumed") if learned.google is None else _("By Compute Engine's rates")


def _preemptions(middle: Outlook) -> Text:
    if middle.preemptions < HARDLY_ANY:
        return _("hardly a preemption")
    return _("%(count)s preemptions", count=f"{middle.preemptions:.1f}")


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.01 else f"{share:.1%}"


def _chance(least: float, most: float) -> str:
    if most < MIN_CHANCE:
        return _("below %(share)s", share=f"{MIN_CHANCE:.2%}")
    low, high = f"{least:.2%}", f"{most:.2%}"
    return low if low == high else _("%(low)s to %(high)s", low=low, high=high)


def resource_notes(held: Rate, adds: Rate, resource_id: str) -> list[str]:
    """Return notes on the machines on the bill of the persistent resource, priced like standard.

    `held` is the price of those that the run holds, `adds` that of those by which it may make the resource grow.
    """
    share = _("an unknown share")
    if held.usd_per_hour is not None:
        share = _("about %(usd)s", usd=format_usd(held.usd_per_hour))
    grows = []
    if adds.lines:
        price = _("an unknown price") if adds.usd_per_hour is None else format_usd(adds.usd_per_hour)
        grows = [
            _(
                "The persistent resource %(name)s was not made here and may grow by itself. The machines that this job "
                "may add, for %(price)s an hour, count to its maximum cost.",
                name=resource_id, price=price,
            )
        ]  # fmt: skip
    return [
        *grows,
        _(
            "The run itself costs nothing: the persistent resource is billed while it is up, busy or not. The "
            "machines that this run holds account for %(share)s an hour of that, at the standard price.",
            share=share,
        ),
    ]


def basis_of(
    strategy: Strategy,
    learned: Learned,
    expected: timedelta,
    timeout: timedelta,
    own_usd: Decimal | None,
    expected_usd: Decimal | None,
) -> tuple[str, ...]:
    """Return the person's own figure beside what jobs like it took, the meaning of the range, and how often it held.

    `own_usd` is the cost of a run of `expected` time, which `timeout` ends; `expected_usd` that by the jobs.
    """
    words = {"time": in_words(expected / HOUR), "timeout": in_words(timeout / HOUR)}
    own = _("You expect %(time)s.", **words)
    if own_usd is not None and own_usd < MAX_SHOWN_USD:
        words["usd"] = format_usd(own_usd)
        own = _("You expect %(time)s: %(usd)s.", **words)
        if expected > timeout:
            own = _("You expect %(time)s, and the timeout ends it after %(timeout)s: %(usd)s.", **words)
    basis: list[str] = [joined(own, _likeness(learned, expected_usd)), RANGE]
    if not learned.alike.runs:
        basis.append(_("The range assumes half to twice the expected run time."))
    basis += _preemptions_seen(strategy, learned) if strategy.preemptible else []
    return (*basis, *_calibration(strategy.label, learned))


def _likeness(learned: Learned, expected_usd: Decimal | None) -> Text:
    """Return how long jobs like it took, measured by what was expected of them, and what that makes of this one."""
    alike, others = learned.alike.runs, learned.program.runs - learned.alike.runs
    usd: str = _("no price known")
    if expected_usd is not None and expected_usd < MAX_SHOWN_USD:
        usd = format_usd(expected_usd)
    if not alike and not others:
        return _("No job of your team that is like this one has succeeded yet, so nothing corrects it.")
    if not alike:
        words = {"count": others, "usd": usd}
        if others == 1:
            return _("1 job with the same program, on another machine or of another length, counts little: %(usd)s.",
                     **words)  # fmt: skip
        return _("%(count)s jobs with the same program, on other machines or of other lengths, count little: %(usd)s.",
                 **words)  # fmt: skip
    actual = f"{math.exp(learned.alike.run_logs / alike / MILLI):.0%}"
    words = {"count": alike, "machine": learned.machine, "took": actual, "usd": usd}
    if alike == 1:
        return _("1 job like this (same program, %(machine)s, similar length) took %(took)s of what was expected; "
                 "weighed with your figure: %(usd)s.", **words)  # fmt: skip
    return _("%(count)s jobs like this (same program, %(machine)s, similar length) took %(took)s of what was expected; "
             "weighed with your figure: %(usd)s.", **words)  # fmt: skip


def _preemptions_seen(strategy: Strategy, learned: Learned) -> list[str]:
    hours = learned.machines.machine_hours
    google: list[str] = [_google(learned.google)] if learned.google is not None else []
    if not hours:
        return google or [_("Preemptions are assumed at the documented rate.")]
    words = {
        "count": learned.machines.preemptions, "hours": f"{hours:.1f}", "strategy": strategy.label,
        "machine": learned.machine, "region": learned.region,
    }  # fmt: skip
    return [
        _(
            "Your team's %(strategy)s jobs on %(machine)s in %(region)s were preempted %(count)s times in %(hours)s "
            "machine hours.",
            **words,
        ),
        *google,
    ]


def _google(rates: PreemptionRates) -> Text:
    """Return the preemption rates of such Spot VMs, which the estimate assumes before any job of the team."""
    words = {
        "machine": rates.machine, "region": rates.region, "days": rates.days, "share": _percent(rates.usual),
        "low": _percent(rates.low), "high": _percent(rates.high), "day": f"{rates.read_at:%Y-%m-%d %H:%M}",
    }  # fmt: skip
    return _(
        "Compute Engine says that of the Spot VMs of %(machine)s in %(region)s that stopped on a day, %(share)s "
        "(%(low)s to %(high)s) were preempted, over the last %(days)s days (read %(day)s UTC). It replaces the "
        "documented rate; that training is preempted alike is assumed.",
        **words,
    )


def _calibration(label: str, learned: Learned) -> tuple[str, ...]:
    """Return how often the cost of the team's jobs under the strategy was within the range; empty if there are none."""
    held, of = learned.team.inside, learned.team.estimated
    if not of:
        return ()
    words = {"held": held, "of": of, "share": f"{held / of:.0%}", "strategy": label}
    return (
        _(
            "Calibration: %(held)s of %(of)s (%(share)s) earlier %(strategy)s jobs of your team that succeeded cost "
            "what their range said.",
            **words,
        ),
    )


def longest_runs(attempts: int, timeout_hours: float, trials: int) -> Text:
    """Return how long Google may run a job with this timeout: its runs, and those of each trial."""
    words = {"runs": attempts, "time": in_words(timeout_hours), "trials": trials}
    if trials > 1:
        return _("%(trials)s trials, each with up to %(runs)s runs of up to %(time)s", **words)
    if attempts == 1:
        return _("one run of up to %(time)s", **words)
    return _("up to %(runs)s runs of up to %(time)s each", **words)


def longest_of(estimate: Mapping[str, Any]) -> str:
    """Return `longest_runs` of a stored estimate, "" if it is of before they were stored."""
    if "attempts" not in estimate:
        return ""
    return longest_runs(estimate["attempts"], estimate["timeout_hours"], estimate["trials"])


def in_words(hours: float) -> str:
    """Return a duration for people: seconds below two minutes, minutes below two hours, hours, or days from three on.

    A time that is no whole number of days stays in hours.
    """
    if hours >= 72 and hours % 24 == 0:
        return _("%(count)s days", count=f"{hours / 24:.0f}")
    if hours < 2 / 60:
        return _("%(count)s seconds", count=f"{hours * 3600:.0f}")
    if hours < 2:
        return _("%(count)s minutes", count=f"{hours * 60:.0f}")
    return _("%(count)s hours", count=f"{hours:.1f}".removesuffix(".0"))
