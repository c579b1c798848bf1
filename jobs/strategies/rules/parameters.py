"""Rules about the parameters of a study: their ranges, scales and conditions."""

from collections.abc import Iterator, Sequence

from jobs.spec import ParameterSpec, Severity, Submission, quoted
from jobs.spec.study import ConditionalParameterSpec
from jobs.strategies.base import Problem, rule
from jobs.strategies.rules.tuning import studies
from jobs.strategies.sources import API
from jobs.texts import translatable as _

MAX_DISCRETE = 1000
CLOSEST = 1e-10
LOG_SCALES = frozenset({"UNIT_LOG_SCALE", "UNIT_REVERSE_LOG_SCALE"})
RANGES = ("double_value_spec", "integer_value_spec", "categorical_value_spec", "discrete_value_spec")
CONDITIONS = ("parent_discrete_values", "parent_int_values", "parent_categorical_values")


def walk(submission: Submission) -> Iterator[tuple[str, ParameterSpec]]:
    """Yield the path and value of every parameter; conditional ones follow their parent."""
    for path, study in studies(submission):
        waiting = [(f"{path}.parameters[{at}]", found) for at, found in enumerate(study.parameters)][::-1]
        while waiting:
            here, parameter = waiting.pop()
            yield here, parameter
            for at, child in enumerate(parameter.conditional_parameter_specs):
                if child.parameter_spec is not None:
                    waiting.append((f"{here}.conditionalParameterSpecs[{at}].parameterSpec", child.parameter_spec))


def low_and_high(parameter: ParameterSpec) -> tuple[float, float] | None:
    """Return the lowest and highest number of a parameter, or None if it has words or no values."""
    spec = parameter.double_value_spec or parameter.integer_value_spec
    if spec is not None:
        return spec.min_value, spec.max_value
    values = parameter.discrete_value_spec.values if parameter.discrete_value_spec is not None else ()
    return (min(values), max(values)) if values else None


@rule(Severity.ERROR, API)
def parameters_are_named(submission: Submission) -> Iterator[Problem]:
    """A study has parameters, each with an id without spaces, at the top level each its own."""
    for path, study in studies(submission):
        if not study.parameters:
            yield Problem(f"{path}.parameters", _("The study has no parameter to vary."), _("Add at least one."))
        seen: set[str] = set()
        for at, parameter in enumerate(study.parameters):
            if parameter.parameter_id and parameter.parameter_id in seen:
                message = _("The parameter %(name)s is given twice.", name=quoted(parameter.parameter_id))
                yield Problem(f"{path}.parameters[{at}].parameterId", message, _("Keep one of them."))
            seen.add(parameter.parameter_id)
    for path, parameter in walk(submission):
        name = parameter.parameter_id
        if not name or any(sign.isspace() for sign in name):
            message = _("%(name)s is no parameter id.", name=quoted(name))
            yield Problem(f"{path}.parameterId", message, _("It reaches your code as --<parameterId>; use no spaces."))


@rule(Severity.ERROR, API)
def parameters_have_one_range(submission: Submission) -> Iterator[Problem]:
    """A parameter has exactly one of double, integer, categorical or discrete values."""
    for path, parameter in walk(submission):
        count = sum(getattr(parameter, name) is not None for name in RANGES)
        if count != 1:
            name = quoted(parameter.parameter_id)
            message = _("The parameter %(name)s has no values.", name=name)
            if count:
                message = _("The parameter %(name)s has %(count)s kinds of values.", name=name, count=count)
            yield Problem(
                path,
                message,
                _("Give one of doubleValueSpec, integerValueSpec, categoricalValueSpec, discreteValueSpec."),
            )


@rule(Severity.ERROR, API)
def parameter_ranges_are_ordered(submission: Submission) -> Iterator[Problem]:
    """The least value of a range is at most the greatest."""
    for path, parameter in walk(submission):
        for name, spec in (
            ("doubleValueSpec", parameter.double_value_spec),
            ("integerValueSpec", parameter.integer_value_spec),
        ):
            if spec is not None and spec.min_value > spec.max_value:
                message = _("minValue %(least)s is above maxValue %(most)s.", least=spec.min_value, most=spec.max_value)
                yield Problem(f"{path}.{name}.minValue", message, _("Exchange them."))


@rule(Severity.ERROR, API)
def discrete_values_ascend(submission: Submission) -> Iterator[Problem]:
    """Discrete values ascend, at least 1e-10 apart, and are at most 1,000; categories are at least one."""
    for path, parameter in walk(submission):
        if parameter.categorical_value_spec is not None and not parameter.categorical_value_spec.values:
            yield Problem(f"{path}.categoricalValueSpec.values", _("No category is given."), _("List the words."))
        if parameter.discrete_value_spec is None:
            continue
        values = parameter.discrete_value_spec.values
        field = f"{path}.discreteValueSpec.values"
        if not values:
            yield Problem(field, _("No value is given."), _("List the numbers."))
        if len(values) > MAX_DISCRETE:
            yield Problem(
                field,
                _(
                    "%(count)s values are given; at most %(limit)s are allowed.",
                    count=f"{len(values):,}",
                    limit=f"{MAX_DISCRETE:,}",
                ),
                _("Use a range."),
            )
        for at in range(1, min(len(values), MAX_DISCRETE)):
            if values[at] - values[at - 1] < CLOSEST:
                message = _("%(value)s does not come after %(before)s.", value=values[at], before=values[at - 1])
                yield Problem(f"{field}[{at}]", message, _("Sort the values, each once."))
                break


@rule(Severity.ERROR, API)
def default_values_are_left_out(submission: Submission) -> Iterator[Problem]:
    """Default values exist in Vizier studies only."""
    for path, parameter in walk(submission):
        for name in RANGES:
            spec = getattr(parameter, name)
            if spec is not None and spec.default_value is not None:
                alias = type(parameter).model_fields[name].alias
                yield Problem(f"{path}.{alias}.defaultValue", _("Tuning jobs have no default values."), _("Remove it."))


@rule(Severity.ERROR, API)
def log_scales_are_above_zero(submission: Submission) -> Iterator[Problem]:
    """A parameter on a logarithmic scale has only values above zero, and categories have no scale."""
    for path, parameter in walk(submission):
        ends = low_and_high(parameter)
        if parameter.scale_type in LOG_SCALES and ends is not None and ends[0] <= 0:
            message = _(
                "On %(scale)s all values must be above zero; the least is %(least)s.",
                scale=parameter.scale_type,
                least=ends[0],
            )
            yield Problem(f"{path}.scaleType", message, _("Raise the least value, or use UNIT_LINEAR_SCALE."))
        if parameter.scale_type != "SCALE_TYPE_UNSPECIFIED" and parameter.categorical_value_spec is not None:
            yield Problem(f"{path}.scaleType", _("A categorical parameter has no scale."), _("Remove scaleType."))


@rule(Severity.ERROR, API)
def grid_search_has_no_doubles(submission: Submission) -> Iterator[Problem]:
    """Grid search takes whole, discrete and categorical parameters, no real ones."""
    if not any(study.algorithm == "GRID_SEARCH" for _, study in studies(submission)):
        return
    for path, parameter in walk(submission):
        if parameter.double_value_spec is not None:
            message = _(
                "Grid search cannot step through the real parameter %(name)s.", name=quoted(parameter.parameter_id)
            )
            yield Problem(f"{path}.doubleValueSpec", message, _("List discrete values, or choose another algorithm."))


@rule(Severity.ERROR, API)
def conditions_match_the_parent(submission: Submission) -> Iterator[Problem]:
    """A conditional parameter names one condition, of its parent's kind, with values that the parent can take."""
    for path, parent in walk(submission):
        for at, child in enumerate(parent.conditional_parameter_specs):
            here = f"{path}.conditionalParameterSpecs[{at}]"
            given = [name for name in CONDITIONS if getattr(child, name) is not None]
            if child.parameter_spec is None:
                yield Problem(
                    f"{here}.parameterSpec", _("The condition has no parameter."), _("Add it, or remove the condition.")
                )
            if len(given) != 1:
                message = _(
                    "%(count)s conditions are given; a conditional parameter has exactly one.", count=len(given)
                )
                yield Problem(here, message, _("Give the values of the parent."))
            elif problem := _mismatch(parent, child):
                yield Problem(here, problem, _("Use values of %(name)s.", name=quoted(parent.parameter_id)))


def _mismatch(parent: ParameterSpec, child: ConditionalParameterSpec) -> str:
    """Return how a condition does not fit its parent, "" if it fits."""
    discrete, whole, words = child.parent_discrete_values, child.parent_int_values, child.parent_categorical_values
    if words is not None:
        known = parent.categorical_value_spec.values if parent.categorical_value_spec is not None else ()
        odd: Sequence[object] = [word for word in words.values if word not in known]
    elif whole is not None:
        spec = parent.integer_value_spec
        odd = [number for number in whole.values if spec is None or not spec.min_value <= number <= spec.max_value]
    elif discrete is not None:
        values = parent.discrete_value_spec.values if parent.discrete_value_spec is not None else ()
        odd = [number for number in discrete.values if not any(abs(number - value) <= CLOSEST for value in values)]
    if not any(condition.values for condition in (discrete, whole, words) if condition is not None):
        return _("The condition names no value.")
    return _("The parent cannot take %(value)s.", value=quoted(odd[0])) if odd else ""


@rule(Severity.ERROR, API)
def same_named_children_exclude_each_other(submission: Submission) -> Iterator[Problem]:
    """Conditional parameters of one name below one parent count for different values."""
    for path, parent in walk(submission):
        taken: dict[str, set[object]] = {}
        for at, child in enumerate(parent.conditional_parameter_specs):
            name = child.parameter_spec.parameter_id if child.parameter_spec is not None else ""
            conditions = [getattr(child, condition) for condition in CONDITIONS]
            values = {value for condition in conditions if condition is not None for value in condition.values}
            if name and values & taken.get(name, set()):
                field = f"{path}.conditionalParameterSpecs[{at}]"
                yield Problem(
                    field, _("%(name)s is given twice for the same value.", name=quoted(name)), _("Keep one of them.")
                )
            taken.setdefault(name, set()).update(values)


RULES = (
    parameters_are_named,
    parameters_have_one_range,
    parameter_ranges_are_ordered,
    discrete_values_ascend,
    default_values_are_left_out,
    log_scales_are_above_zero,
    grid_search_has_no_doubles,
    conditions_match_the_parent,
    same_named_children_exclude_each_other,
)
