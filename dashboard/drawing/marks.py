"""Marks as safe HTML: icon, word and colour of a state; machines; bars for used restarts; a meter for a share."""

from collections import Counter
from decimal import Decimal
from functools import cache

from django.contrib.auth.models import User
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from jobs.bounds import parse_digits
from jobs.catalog import ACCELERATORS, count_accelerators
from jobs.models import Role, ScheduleRun
from jobs.state_words import STATE_WORDS
from jobs.states import LOCAL, JobState

LOOKS: dict[str, str] = {
    JobState.AWAITING_APPROVAL: "ask",
    JobState.APPROVED: "wait",
    JobState.SUBMITTING: "wait",
    JobState.REJECTED: "bad",
    JobState.WITHDRAWN: "halt",
    JobState.SUBMIT_FAILED: "bad",
    JobState.QUEUED: "wait",
    JobState.PENDING: "wait",
    JobState.RUNNING: "run",
    JobState.UPDATING: "run",
    JobState.CANCELLING: "halt",
    JobState.PAUSED: "pause",
    JobState.SUCCEEDED: "ok",
    JobState.PARTIALLY_SUCCEEDED: "ok",
    JobState.FAILED: "bad",
    JobState.CANCELLED: "halt",
    JobState.EXPIRED: "bad",
    JobState.LOST: "bad",
}
"""Look of each state. A state unknown to us looks `odd`."""

ROLE_WORDS = {
    Role.VIEWER: gettext_lazy("viewer"),
    Role.ENGINEER: gettext_lazy("engineer"),
    Role.APPROVER: gettext_lazy("approver"),
    Role.LEAD: gettext_lazy("lead"),
}
TAG_WORDS = {
    "cheapest": gettext_lazy("cheapest"),
    "fastest": gettext_lazy("fastest"),
    "safest": gettext_lazy("safest"),
}
"""Names of the distinctions of a strategy."""

TRIAL_LOOKS: dict[str, str] = {
    "REQUESTED": "wait",
    "QUEUED": "wait",
    "PENDING": "wait",
    "waiting": "wait",
    "ACTIVE": "run",
    "STOPPING": "halt",
    "SUCCEEDED": "ok",
    "INFEASIBLE": "bad",
}
"""Looks of the states of a trial (Trial.State in study.proto). While a trial waits, its state is that of its custom
job."""

SHAPES: dict[str, str] = {
    "ask": '<path d="M6 1 11 6 6 11 1 6Z" class="line"/>',
    "wait": '<circle cx="6" cy="6" r="4.6" class="line"/><path d="M6 6V1.4A4.6 4.6 0 0 1 10.6 6Z"/>',
    "run": '<path d="M2.5 1.2 11 6l-8.5 4.8Z"/>',
    "ok": '<path d="M1.5 6.5 4.8 9.8 10.7 2.6" class="stroke"/>',
    "bad": '<path d="M2.2 2.2l7.6 7.6M9.8 2.2 2.2 9.8" class="stroke"/>',
    "halt": '<path d="M2 2h8v8H2Z"/>',
    "pause": '<path d="M2 1.5h2.8v9H2ZM7.2 1.5H10v9H7.2Z"/>',
    "odd": '<circle cx="6" cy="6" r="4.6" class="line"/><circle cx="6" cy="6" r="1.4"/>',
    "again": '<path d="M10 6A4 4 0 1 1 8.6 3" class="stroke"/><path d="M6.6.6 10.6 3 6.8 5.4Z"/>',
    "bolt": '<path d="M7.4.6 2 7h3.2L4.4 11.4 10 4.8H6.6Z"/>',
}
"""Icons on a 12 × 12 grid. `line` is a thin outline, `stroke` a thick one; everything else is filled."""


def look_of(state: str) -> str:
    """Return the look of a state: ask, wait, run, ok, bad, halt, pause, or odd for an unknown one."""
    return LOOKS.get(state, "odd")


def state_word(state: str) -> str:
    """Return a state of Vertex AI in capitals, one of ours in lower case, and an unknown one as it was sent."""
    if state not in LOOKS:
        return _("unknown (%(state)s)") % {"state": state}
    return str(STATE_WORDS[state]) if JobState(state) in LOCAL else state.upper()


def person_name(user: User) -> str:
    """Return the user name of a person, followed by the full name if there is one: "ada (Ada Lovelace)"."""
    name, full = user.get_username(), user.get_full_name()
    return f"{name} ({full})" if full and full != name else name


def role_word(role: str) -> str:
    """Return the name of a role in a team."""
    return str(ROLE_WORDS[Role(role)])


def outcome_word(outcome: str) -> str:
    """Return the name of the outcome of a schedule's run."""
    return str(ScheduleRun.Outcome(outcome).label)


def tag_word(tag: str) -> str:
    """Return the name of a strategy's distinction, such as "cheapest"."""
    return str(TAG_WORDS[tag])


@cache
def shape(name: str) -> SafeString:
    """Return an icon as SVG, hidden from screen readers because a word is next to it."""
    return format_html(
        '<svg class="shape" viewBox="0 0 12 12" aria-hidden="true">{}</svg>',
        mark_safe(SHAPES[name]),  # noqa: S308 our own constant
    )


def state_mark(state: str) -> SafeString:
    """Return a state as icon, word and colour."""
    look = look_of(state)
    return format_html('<span class="state {}">{}{}</span>', look, shape(look), state_word(state))


def trial_look(state: str) -> str:
    """Return the look of a trial's state or of its wait."""
    return TRIAL_LOOKS.get(state, "odd")


def trial_mark(state: str) -> SafeString:
    """Return the state of a trial as icon, word and colour. Vertex AI calls a failed trial INFEASIBLE."""
    look = trial_look(state)
    return format_html('<span class="state {}">{}{}</span>', look, shape(look), state)


def machines(summary: str) -> SafeString:
    """Return the machines of a job for a narrow column: `1 × n1-standard-8 (1 × NVIDIA_TESLA_T4) + 2 × e2-standard-4`.

    Worker pools with equal machines are one: `4 × a2-highgpu-1g`. Lines break between unequal ones. An accelerator has
    its short name, with its API name as tooltip.
    """
    counts: Counter[str] = Counter()
    for text in summary.split(" + "):
        count, _, machine = text.partition(" × ")
        replicas = parse_digits(count) if machine else None
        counts[machine if replicas else text] += replicas or 0  # a summary that was cut ends with another text
    pools = (f"{count} × {text}" if count else text for text, count in counts.items())
    return format_html_join(" + ", "{}", ((_worker_pool(pool),) for pool in pools))


def _worker_pool(text: str) -> SafeString:
    machine, _, attached = text.partition(" (")
    count, _, name = attached.rstrip(")").partition(" × ")
    if name not in ACCELERATORS:
        return format_html('<span class="keep">{}</span>', text)
    label = ACCELERATORS[name].label
    gpus = format_html('<span class="keep">({} × <abbr title="{}">{}</abbr>)</span>', count, name, label)
    return format_html('<span class="keep">{}</span> {}', machine, gpus)


def accelerators_of(summary: str) -> str:
    """Return the accelerators of a job in short form, "8 A100". Return "" for none."""
    labels = ((number, ACCELERATORS.get(name)) for name, number in count_accelerators(summary).items())
    return " + ".join(f"{number} {known.label.split()[0] if known else _('accelerators')}" for number, known in labels)


def chips(counts: Counter[str]) -> str:
    """Return the number of accelerators: "14 GPUs", or "chips" if there are TPUs. Return "" for none."""
    total = counts.total()
    are_gpus = all(known.kind == "gpu" for name in counts if (known := ACCELERATORS.get(name)))
    if not total:
        return ""
    if are_gpus:
        return ngettext("%(number)s GPU", "%(number)s GPUs", total) % {"number": total}
    return ngettext("%(number)s chip", "%(number)s chips", total) % {"number": total}


def restart_bars(used: int, allowed: int) -> SafeString:
    """Return `allowed` bars of which `used` are filled, with the numbers as label. More used than allowed fills all."""
    filled = min(used, allowed)
    bars = format_html_join(
        "",
        '<svg class="{}" viewBox="0 0 6 12"><rect width="6" height="12"/></svg>',
        (("full" if place < filled else "free",) for place in range(allowed)),
    )
    text = _("%(used)s of %(allowed)s restarts used") % {"used": used, "allowed": allowed}
    return format_html('<span class="pips" role="img" aria-label="{}" title="{}">{}</span>', text, text, bars)


def meter(share: float | Decimal, label: str) -> SafeString:
    """Return a bar filled to `share` (0 to 1, more is shown as full) with `label` for screen readers."""
    width = f"{min(1.0, max(0.0, float(share))) * 100:.1f}%"
    return format_html(
        '<svg class="meter" role="img" aria-label="{}"><rect class="all" width="100%" height="100%"/>'
        '<rect class="part" width="{}" height="100%"/></svg>',
        label,
        width,
    )
