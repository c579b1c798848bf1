"""The fields specific to a training pipeline: its task, its input data and the model that it uploads."""

from functools import partial

from django import forms
from django.utils.translation import gettext_lazy as _

from dashboard.forms.fields.located import ChoiceField, LineField, OneOfField
from dashboard.forms.fields.numbers import NumberField
from dashboard.forms.findings import FindingsForm

TASKS = (("custom", _("Custom training")), ("tuning", _("Tuning")))
SPLITS = (
    ("", _("as Vertex AI does it")),
    ("fraction", _("at random, by fractions")),
    ("timestamp", _("by time, in fractions")),
    ("stratified", _("the same mixture in each part")),
    ("predefined", _("by a column")),
    ("filter", _("by filters")),
)


DATA = "inputDataConfig"
FRACTIONS = ("fractionSplit", "timestampSplit", "stratifiedSplit")
KEYED = ("timestampSplit", "stratifiedSplit", "predefinedSplit")

_line = partial(LineField, max_length=2000)


def _in_splits(name: str, splits: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{DATA}.{split}.{name}" for split in splits)


class PipelineForm(FindingsForm):
    """Fields of a pipeline in addition to its job."""

    task = ChoiceField(
        _("Task"),
        choices=TASKS,
        initial="custom",
        widget=forms.RadioSelect,
        covers=("trainingTaskDefinition", "trainingTaskInputs"),
    )
    model_name = _line(
        _("Model to upload"),
        _("The display name of the model. Empty: no model is uploaded."),
        path="modelToUpload.displayName",
        covers=("modelToUpload",),
    )
    model_image = _line(
        _("Serving image"), _("The container that serves the model."), path="modelToUpload.containerSpec.imageUri"
    )
    parent_model = _line(
        _("Parent model"), _("Uploads a new version of it: projects/P/locations/REGION/models/ID."), path="parentModel"
    )
    model_id = _line(_("Model id"), _("For a new model; empty: Vertex AI chooses."), path="modelId")
    dataset = _line(
        _("Managed dataset"),
        _("The ID of the dataset. Empty: the code finds its data itself."),
        path=f"{DATA}.datasetId",
        covers=(DATA,),
    )
    dataset_output = _line(
        _("Data exported to"),
        _("gs://bucket/folder"),
        path=f"{DATA}.gcsDestination.outputUriPrefix",
        covers=(f"{DATA}.bigqueryDestination",),
    )
    annotation_schema = _line(
        _("Annotation schema"), _("gs:// address of the schema of the labels."), path=f"{DATA}.annotationSchemaUri"
    )
    split = OneOfField(
        _("Split of the data"), choices=SPLITS, objects={name: f"{DATA}.{name}Split" for name, _ in SPLITS if name}
    )
    training_fraction = NumberField(_("Training"), path=_in_splits("trainingFraction", FRACTIONS))
    validation_fraction = NumberField(_("Validation"), path=_in_splits("validationFraction", FRACTIONS))
    test_fraction = NumberField(_("Test"), path=_in_splits("testFraction", FRACTIONS))
    split_key = _line(_("Column"), _("The key in the data that decides the split."), path=_in_splits("key", KEYED))
    training_filter = _line(_("Training filter"), path=f"{DATA}.filterSplit.trainingFilter")
    validation_filter = _line(_("Validation filter"), path=f"{DATA}.filterSplit.validationFilter")
    test_filter = _line(_("Test filter"), path=f"{DATA}.filterSplit.testFilter")
