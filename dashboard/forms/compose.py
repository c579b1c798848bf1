"""The whole compose form: one job form and its pools, read into a submission, with every finding at its field."""

import json
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from dashboard.forms.body import custom_job
from dashboard.forms.job_form import JobForm
from dashboard.forms.places import place_of
from dashboard.forms.pool_form import PoolForm
from jobs import spec
from jobs.spec import Finding, Submission
from jobs.strategies import STRATEGIES

KIND = "custom_job"
PREFIXES = ("pool-0",)
"""The pools that the page shows; the form itself takes any number."""


class Compose:
    """What a person typed, in its two readings: fields with findings, and the submission that they make.

    `data` is what was posted; without it the form shows `initial` ({field: value}, pools under their prefix).
    `is_final` is True for a real submit: only then empty fields are told in red.
    """

    def __init__(
        self,
        *,
        teams: list[tuple[str, str]],
        data: Mapping[str, Any] | None = None,
        initial: dict[str, Any] | None = None,
        is_final: bool = False,
    ) -> None:
        initial = initial or {}
        self.job = JobForm(data, initial=initial, teams=teams)
        self.pools = [PoolForm(data, prefix=prefix, initial=initial.get(prefix)) for prefix in PREFIXES]
        self.whole: list[Finding] = []
        for form in self.forms:
            form.is_final = is_final

    @property
    def forms(self) -> list[JobForm | PoolForm]:
        """Every form of the page."""
        return [self.job, *self.pools]

    def is_readable(self) -> bool:
        """Read every field; False when one could not be read."""
        return len([form for form in self.forms if form.is_valid()]) == len(self.forms)

    def as_data(self) -> dict[str, str]:
        """Return what the browser would post if the form were submitted as it is shown first."""
        return {
            form.add_prefix(name): str(field.prepare_value(value))
            for form in self.forms
            for name, field in form.fields.items()
            if (value := form.get_initial_for_field(field, name)) is not None
        }

    @property
    def has_soft_gaps(self) -> bool:
        """Whether something refuses the job only because its field is still empty, and nothing else does."""
        refused = [field for form in self.forms for field in form.found() if field.is_refused]
        return bool(refused) and all(field.is_waiting for field in refused)

    @property
    def expected(self) -> timedelta | None:
        """The run time that was read."""
        return self.job.cleaned_data.get("run_time")

    def submission(self, *, project: str) -> Submission | None:
        """Return what the readable fields ask for, under the chosen strategy; put what could not be used at its field.

        None when no job can be made of the fields at all, which then says so at a field.
        """
        said = self.job.cleaned_data
        job, findings = spec.read(KIND, custom_job(self.job, self.pools))
        self.put(findings)
        strategy = STRATEGIES.get(said.get("strategy", ""))
        if job is None or strategy is None:
            return None
        return strategy.apply(Submission(kind=KIND, project=project, region=said.get("region", ""), job=job))

    def put(self, findings: Iterable[Finding]) -> None:
        """Put each finding at the field that writes its path; what belongs to no field belongs to the whole."""
        for finding in findings:
            pool, name = place_of(finding.code, finding.field)
            if pool is not None and pool < len(self.pools):
                self.pools[pool].put(name, finding)
            elif pool is None and name:
                self.job.put(name, finding)
            elif finding not in self.whole:
                self.whole.append(finding)


def as_text(submission: Submission | None) -> str:
    """Return the request's body as people read JSON; "" while there is none."""
    return json.dumps(spec.rest_body(submission.job), indent=2, ensure_ascii=False) if submission else ""
