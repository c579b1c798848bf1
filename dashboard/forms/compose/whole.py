"""The whole compose form: its fields and rows, read into a submission, with every finding at its field."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from dashboard.forms.body.conditions import LIST, Grown, grown
from dashboard.forms.body.layout import Layout, Parts
from dashboard.forms.body.places import place_of
from dashboard.forms.body.tables import PIPELINE, RESOURCE, SPEC, TUNING
from dashboard.forms.body.writing import reserve, worker_pool, written
from dashboard.forms.compose.advanced_form import AdvancedForm
from dashboard.forms.compose.job_form import JobForm
from dashboard.forms.compose.literals import Literal, literals
from dashboard.forms.compose.pipeline_form import PipelineForm
from dashboard.forms.compose.pool_form import PoolForm
from dashboard.forms.compose.rows import MOST_ADDED, count
from dashboard.forms.compose.told import Told, told
from dashboard.forms.compose.tuning_form import ParameterForm, TuningForm, check_parents
from dashboard.forms.found import FoundField, FoundForm
from jobs import spec
from jobs.catalog import machine
from jobs.spec import Finding, Submission
from jobs.strategies import STRATEGIES

AnyForm = TypeVar("AnyForm", bound=FoundForm)


class _Given(NamedTuple):
    data: Mapping[str, Any] | None
    initial: dict[str, Any]
    parameters: int


class Compose:
    """What a person typed, in its two readings: fields with findings, and the submission that they make.

    `data` is what was posted; without it the form shows `initial` ({field: value}, rows under their prefix).
    `is_final` is True for a real submit: only then empty fields are told in red. Call `read` before anything else.
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
        names = (
            [f"{row}-{field}" for row, fields in initial.items() if isinstance(fields, dict) for field in fields]
            if data is None
            else data
        )
        self.job = JobForm(data, initial=initial, teams=teams)
        self.advanced = AdvancedForm(data, initial=initial)
        self.pools = [
            PoolForm(data, prefix=f"pool-{at}", initial=initial.get(f"pool-{at}"))
            for at in range(max(1, count(names, "pool")))
        ]
        self.whole: list[Finding] = []
        self.literals: list[Literal] = []
        self.is_readable = False
        self._given = _Given(data, initial, max(1, count(names, "parameter")))
        for form in (self.job, self.advanced, *self.pools):
            form.is_final = is_final

    @cached_property
    def tuning(self) -> TuningForm:
        """What a study has once. Forms of other kinds are made when somebody asks: while one types, nobody does."""
        return self._made(TuningForm(self._given.data, initial=self._given.initial))

    @cached_property
    def pipeline(self) -> PipelineForm:
        """What a pipeline has beside its job."""
        return self._made(PipelineForm(self._given.data, initial=self._given.initial))

    @cached_property
    def parameters(self) -> list[ParameterForm]:
        """The parameters of a study, at least one."""
        data, initial, rows = self._given
        prefixes = [f"parameter-{at}" for at in range(rows)]
        return [self._made(ParameterForm(data, prefix=each, initial=initial.get(each))) for each in prefixes]

    def _made(self, form: AnyForm) -> AnyForm:
        form.is_final = self.job.is_final
        return form

    @property
    def forms(self) -> list[FoundForm]:
        """Every form of the page."""
        return [self.job, self.advanced, self.pipeline, self.tuning, *self.parameters, *self.pools]

    @cached_property
    def active(self) -> list[FoundForm]:
        """The forms that count for the kind of job; what others hold is kept and not judged."""
        forms: list[FoundForm] = [self.job, self.advanced, *self.pools]
        forms += [self.pipeline] if self.layout.kind == "training_pipeline" else []
        return forms + ([self.tuning, *self.parameters] if self.layout.tunes else [])

    @cached_property
    def layout(self) -> Layout:
        """What kind of job the fields describe."""
        kind = str(self.job["kind"].value() or "custom_job")
        tunes = kind == "training_pipeline" and self.pipeline["task"].value() == "tuning"
        return Layout(kind, tunes or kind == "hyperparameter_tuning_job")

    def read(self) -> None:
        """Read every field that counts, and offer in the lists what fits what was read."""
        if self.layout.tunes:
            check_parents(self.parameters)
        self.is_readable = len([form for form in self.active if form.is_valid()]) == len(self.active)
        region = str(self.job["region"].value() or "")
        for pool in self.pools:
            pool.fit(region)
        self.job.fit(frozenset(name for pool in self.pools if (name := _accelerator(pool))))

    def as_data(self) -> dict[str, str]:
        """Return what the browser would post if the form were submitted as it is shown first."""
        return {
            form.add_prefix(name): str(field.prepare_value(value))
            for form in self.forms
            for name, field in form.fields.items()
            if (value := form.get_initial_for_field(field, name)) is not None and value is not False
        } | {f"{form.prefix}-{mark}": str((form.initial or {}).get(mark) or "") for form, mark in self._marked()}

    def _marked(self) -> list[tuple[FoundForm, str]]:
        pools: list[tuple[FoundForm, str]] = [(form, "machine_type") for form in self.pools]
        return pools + [(form, "parameter_id") for form in self.parameters]

    def focus(self, prefix: str) -> None:
        """Let the page begin at the row of this prefix, where there is one."""
        rows: list[PoolForm | ParameterForm] = [*self.pools, *self.parameters]
        for row in rows:
            if row.prefix == prefix:
                row.focus()

    @property
    def may_add_pool(self) -> bool:
        """Whether Vertex AI takes one more."""
        return len(self.pools) < MOST_ADDED["pool"]

    @property
    def has_soft_gaps(self) -> bool:
        """Whether something refuses the job only because its field is still empty, and nothing else does."""
        refused = [field for form in self.active for field in form.with_findings() if field.is_refused]
        return bool(refused) and all(field.is_waiting for field in refused)

    @property
    def told_apart(self) -> list[FoundField]:
        """Return the fields with findings that have no place of their own in the page."""
        return [field for form in self.active for field in form.told_apart]

    def told(self) -> Told:
        """Return what is told now, and where nothing is told any more."""
        return told(self.active, str((self._given.data or {}).get("told") or ""))

    @property
    def expected(self) -> timedelta | None:
        """The run time that was read."""
        return self.job.cleaned_data.get("run_time")

    def body(self) -> dict[str, Any]:
        """Return the REST body that the readable fields make, over what is carried along."""
        said = {name: value for form in self.active if not form.prefix for name, value in form.cleaned_data.items()}
        carried: Mapping[str, Any] = {} if said.get("drop_carried") else said.get("carried") or {}
        layout = self.layout
        resource = written(RESOURCE, said, carried.get("resource") if carried.get("kind") == layout.kind else {})
        if layout.kind == "training_pipeline":
            resource = written(PIPELINE, said, resource)
        pools = [_pool(form, at) for at, form in enumerate(self.pools)]
        if said.get("strategy") == "reservation" and said.get("reservation"):
            reserve(pools, said["reservation"])
        return layout.joined(
            Parts(
                resource=resource,
                spec=written(SPEC, said, carried.get("spec")),
                tuning=written(TUNING, said, carried.get("tuning")) if layout.tunes else {},
                pools=pools,
                parameters=self.grown.parameters if layout.tunes else [],
            )
        )

    @cached_property
    def grown(self) -> Grown:
        """The parameters with conditional ones below their parents, as they are when everything has been read."""
        return grown([form.row() for form in self.parameters])

    def submission(self, *, project: str) -> Submission | None:
        """Return what the readable fields ask for, under the chosen strategy; put what could not be used at its field.

        None when no job can be made of the fields at all, which then says so at a field.
        """
        said = self.job.cleaned_data
        job, findings = spec.read(self.layout.kind, self.body())
        self.put(findings)
        strategy = STRATEGIES.get(said.get("strategy", ""))
        if job is None or strategy is None:
            return None
        asked = Submission(self.layout.kind, project, said.get("region", ""), job, confirmed=frozenset())
        self.literals = literals(asked, self._given.data or {})
        return strategy.apply(
            replace(asked, confirmed=frozenset(each.text for each in self.literals if each.is_confirmed))
        )

    def put(self, findings: Iterable[Finding]) -> None:
        """Put each finding at the field that writes its path; what belongs to no field belongs to the whole."""
        rows: dict[str, FoundForm] = {str(form.prefix): form for form in self.active if form.prefix}
        for finding in findings:
            prefix, name = place_of(finding.code, self._path_in_rows(finding.field), self.layout)
            if name in ("affinity", "reservations") and prefix in rows and not rows[prefix]["affinity"].value():
                prefix, name = "", "reservation"
            forms = [rows[prefix]] if prefix in rows else [] if prefix else self.active
            form = next((each for each in forms if name in each.fields and (prefix or not each.prefix)), None)
            if form is not None and name:
                form.put(name, finding)
            elif finding not in self.whole:
                self.whole.append(finding)

    def _path_in_rows(self, path: str) -> str:
        """Return a path of the body as the rows of the form count: a conditional parameter has a row of its own."""
        begin = self.layout.tuning_path
        if not self.layout.tunes or not path.startswith(f"{begin}{LIST}["):
            return path
        return begin + self.grown.place(path[len(begin) :])


def _accelerator(pool: PoolForm) -> str:
    known = machine(str(pool["machine_type"].value() or ""))
    return (known.fixed_accelerator if known else "") or str(pool["accelerator_type"].value() or "")


def _pool(form: PoolForm, at: int) -> dict[str, Any]:
    said = form.cleaned_data
    carried = {} if said.get("drop_carried") else said.get("carried") or {}
    if at and form.is_skipped:
        return dict(carried)
    return worker_pool(said, carried)
