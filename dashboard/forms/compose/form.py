"""The whole compose form: its fields and rows, read into a submission, with every finding at its field."""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any

from django import forms
from django.utils.translation import gettext as _

from dashboard.forms.compose import paths
from dashboard.forms.compose.advanced_form import AdvancedForm
from dashboard.forms.compose.body import covered_paths, initial_data, write_fields
from dashboard.forms.compose.conditions import Tree, tree_of
from dashboard.forms.compose.fallback_form import FallbackForm
from dashboard.forms.compose.job_form import IN_ADDRESS, KINDS, JobForm
from dashboard.forms.compose.layout import JOB_SPEC, PARAMETERS, WORKER_POOLS, Layout
from dashboard.forms.compose.literals import Literal, literals, unknown_parts
from dashboard.forms.compose.pipeline_form import PipelineForm
from dashboard.forms.compose.rows import Parameters, WorkerPools, row_data
from dashboard.forms.compose.shown import Shown, Summary, shown, summarize
from dashboard.forms.compose.sweep_form import SweepForm
from dashboard.forms.compose.tuning_form import ParameterForm, TuningForm
from dashboard.forms.compose.worker_pool_form import WorkerPoolForm, reserve
from dashboard.forms.fields.located import EMPTY
from dashboard.forms.findings import FindingsForm
from jobs import spec
from jobs.bounds import parse_digits
from jobs.spec import Finding, Severity, Submission
from jobs.spec.paths import join, upward
from jobs.strategies import STRATEGIES

MAX_PATH_LENGTH = 1000


class Compose:
    """The input of a person in two forms: fields with findings, and the submission made from them.

    `data` is the posted data. Without it the form starts with `initial`, as `initial_values` returns it. `is_final` is
    True for a real submit; only then are empty fields marked in red. `is_new` is True if nobody has edited the form and
    nothing was filled in; then empty fields are not marked at all. `was_posted` means that the page answers a post
    which is not in a draft yet. Call `read` before anything else.
    """

    def __init__(
        self,
        *,
        teams: list[tuple[str, str]],
        data: Mapping[str, Any] | None = None,
        initial: Mapping[str, Any] | None = None,
        is_final: bool = False,
        is_new: bool = False,
        was_posted: bool = False,
    ) -> None:
        self.was_posted = was_posted
        self.data = data if data is not None else form_data({"team": teams[0][0], **(initial or {})})
        self.is_final, self.is_new = is_final, is_new
        self._options = {"is_final": is_final, "is_new": is_new}
        self.job = JobForm(self.data, teams=teams, **self._options)
        self.advanced = AdvancedForm(self.data, **self._options)
        self.sweep, self.fallback = SweepForm(self.data, **self._options), FallbackForm(self.data, **self._options)
        self.pools = WorkerPools(self.data, prefix="pool", form_kwargs=self._row_options)
        self.whole: list[Finding] = []
        self.literals: list[Literal] = []
        self.unknown_parts: list[Literal] = []
        self.is_readable = False
        self.is_from_text = False
        """Whether it was filled from the text of the request. The text is then kept as it was typed."""
        self.text_findings: list[Finding] = []

    @property
    def draft_version(self) -> int:
        """How often the form was saved as a draft, as known to the browser."""
        return parse_digits(str(self.data.get("draft_version") or "")) or 0

    @property
    def _row_options(self) -> dict[str, Any]:
        return {"empty_permitted": False, **self._options}

    @cached_property
    def tuning(self) -> TuningForm:
        """The fields of the study. Created on access, because they are not needed for other kinds of jobs."""
        return TuningForm(self.data, **self._options)

    @cached_property
    def pipeline(self) -> PipelineForm:
        """The fields that a pipeline has in addition to its job."""
        return PipelineForm(self.data, **self._options)

    @cached_property
    def parameters(self) -> "forms.BaseFormSet[Any]":
        """The parameters of a study."""
        return Parameters(self.data, prefix="parameter", form_kwargs=self._row_options)

    @cached_property
    def layout(self) -> Layout:
        """The kind of job that the fields describe."""
        kind = str(self.job["kind"].value() or "custom_job")
        kind = kind if kind in dict(KINDS) else "custom_job"
        tunes = kind == "training_pipeline" and self.pipeline["task"].value() == "tuning"
        return Layout(kind, tunes or kind == "hyperparameter_tuning_job")

    @cached_property
    def single(self) -> list[FindingsForm]:
        """The non-repeated forms of this kind of job. Values of other forms are kept but not validated."""
        forms: list[FindingsForm] = [self.job, self.advanced, self.sweep, self.fallback]
        forms += [self.pipeline] if self.layout.kind == "training_pipeline" else []
        return forms + ([self.tuning] if self.layout.tunes else [])

    @cached_property
    def active(self) -> list[FindingsForm]:
        """The forms of this kind of job, rows included."""
        return [*self.single, *(self.parameters.forms if self.layout.tunes else []), *self.pools.forms]

    def read(self) -> None:
        """Read every field of this kind of job, and offer matching choices in the lists."""
        formsets: list[forms.BaseFormSet[Any]] = [self.pools, *([self.parameters] if self.layout.tunes else [])]
        self.is_readable = all([*(form.is_valid() for form in self.single), *(rows.is_valid() for rows in formsets)])
        self.whole += [
            Finding("unreadable", Severity.ERROR, "", str(error))
            for each in formsets
            for error in each.non_form_errors()
        ]
        for path in str(self.job["left_out"].value() or "").split():
            form, name = self.field_of("left_open", path)
            if form is not None and form[name].value() in EMPTY:
                words = str(_("The imported text leaves this open. Fill it in."))
                form.add_finding(name, Finding("left_open", Severity.ERROR, path, words))
                self.is_readable = False
        region = str(self.job["region"].value() or "")
        for pool in self.pools:
            pool.fit(region)
        self.job.fit(frozenset(pool.accelerator for pool in self.pools if pool.accelerator))

    def focus(self, prefix: str) -> None:
        """Give the row with this prefix the focus of the page, if it exists."""
        for row in (*self.pools, *self.parameters):
            if row.prefix == prefix:
                row.begins_at = row.first_field

    def mark(self, paths: Iterable[str], words: str) -> None:
        """Add a note to the fields of these paths, which may begin inside a worker pool, and focus the first."""
        prefixes = ("", f"{JOB_SPEC}.", *(f"{WORKER_POOLS}[{index}]." for index in range(len(self.pools))))
        found = [place for path in paths for prefix in prefixes if (place := self._fields_by_path.get(prefix + path))]
        for form, name in found:
            form.add_finding(name, Finding("named_by_diagnosis", Severity.NOTE, "", words))
        if found:
            form, form.begins_at = found[0][0], found[0][1]

    @property
    def may_add_pool(self) -> bool:
        """Whether Vertex AI accepts one more worker pool."""
        return len(self.pools) < self.pools.max_num

    @cached_property
    def summary(self) -> Summary:
        """All findings in one list, empty for a new form. Access it only after all findings have been added."""
        return summarize(self.active, () if self.is_new else self.whole)

    @cached_property
    def shown(self) -> Shown:
        """The findings that the page now shows at fields, and the fields that no longer show any."""
        return shown(self.active, str(self.data.get("shown") or ""))

    @property
    def expected(self) -> timedelta | None:
        """The expected run time, if valid."""
        return self.job.cleaned_data.get("run_time")

    @property
    def cap_usd(self) -> Decimal | None:
        """The cost cap, if valid."""
        return self.job.cleaned_data.get("cap")

    @cached_property
    def body(self) -> dict[str, Any]:
        """The REST body of the readable fields, merged into the carried parts."""
        body = deepcopy(self.job.kept)
        for form in self.single:
            write_fields(form, body)
        pools = [
            deepcopy(form.kept) if at and form.is_skipped else form.to_body() for at, form in enumerate(self.pools)
        ]
        rows = {WORKER_POOLS: pools}
        if self.job.cleaned_data.get("strategy") == "reservation":
            reserve(pools, self.job.cleaned_data.get("reservation", ""))
        if self.layout.tunes:
            rows[PARAMETERS] = self.tree.parameters
        for path, values in rows.items():
            carried = paths.get(body, path)
            paths.put(body, path, values if carried is paths.MISSING else [*values, *carried])
        return self.layout.to_rest(body)

    @cached_property
    def tree(self) -> Tree:
        """The parameters as a tree, conditional ones below their parents. Access it after `read`."""
        return tree_of([form.row() for form in self.parameters])

    def submission(self, *, project: str) -> Submission | None:
        """Return the submission of the readable fields under the chosen strategy. Add findings to their fields.

        Return None if the fields make no job. They then have an error.
        """
        values = self.job.cleaned_data
        job, findings = spec.read(self.layout.kind, self.body)
        self.add_findings(findings)
        strategy = STRATEGIES.get(values.get("strategy", ""))
        if job is None or strategy is None:
            return None
        asked = Submission(self.layout.kind, project, values.get("region", ""), job, confirmed=frozenset())
        self.literals = literals(asked, self.data)
        asked = strategy.apply(asked)
        self.unknown_parts = unknown_parts(asked, self.data)
        boxes = (*self.literals, *self.unknown_parts)
        return replace(asked, confirmed=frozenset(each.text for each in boxes if each.is_confirmed))

    def add_findings(self, findings: Iterable[Finding]) -> None:
        """Add each finding to the field that writes its path. Findings without a field are added to `whole`."""
        for finding in findings:
            form, name = self.field_of(finding.code, finding.field)
            if form is not None:
                form.add_finding(name, finding)
            elif finding not in self.whole:
                self.whole.append(finding)

    def field_of(self, code: str, path: str) -> tuple[FindingsForm | None, str]:
        """Return the form and field for a finding's code and path, (None, "") if no field writes it."""
        if name := IN_ADDRESS.get(code):
            return self.job, name
        path = path[:MAX_PATH_LENGTH]
        form, name = self._longest(self.layout.form_path(path)) or self._longest(path) or (None, "")
        if isinstance(form, WorkerPoolForm) and name in ("affinity", "reservations") and not form["affinity"].value():
            return self.job, "reservation"
        return form, name

    def _longest(self, path: str) -> tuple[FindingsForm, str] | None:
        """Return the field of the longest path that is a prefix of `path`."""
        if path == WORKER_POOLS:
            return self.pools[0], "machine_type"
        tries = map(self._fields_by_path.get, upward(path))
        return next((each for each in tries if each), None)

    @cached_property
    def _fields_by_path(self) -> dict[str, tuple[FindingsForm, str]]:
        at: list[tuple[FindingsForm, str]] = [(form, "") for form in self.single]
        at += [(form, f"{WORKER_POOLS}[{index}]") for index, form in enumerate(self.pools)]
        at += list(zip(self.parameters, self.tree.paths, strict=True)) if self.layout.tunes else []
        found = {
            join(begin, path): (form, name) for form, begin in at for path, name in covered_paths(type(form)).items()
        }
        conditions = (each for each in at if each[1].endswith(".parameterSpec"))
        return found | {path.removesuffix(".parameterSpec"): (form, "parent_values") for form, path in conditions}


def form_data(initial: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data of a form that nobody has edited yet. `initial` is as `initial_values` returns it."""
    pools, parameters = initial.get("pools") or [{}], initial.get("parameters") or [{}]
    data = row_data("pool", [initial_data(WorkerPoolForm, row) for row in pools])
    data |= row_data("parameter", [initial_data(ParameterForm, row) for row in parameters])
    for form in (JobForm, AdvancedForm, SweepForm, FallbackForm, TuningForm, PipelineForm):
        data |= initial_data(form, initial)
    return data
