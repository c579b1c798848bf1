"""The fields that only a training pipeline has: its task, the data it takes and the model it uploads."""

from functools import partial

from django import forms

from dashboard.forms.fields.numbers import NumberField
from dashboard.forms.fields.words import line_field
from dashboard.forms.found import FoundForm

TASKS = (("custom", "Custom training"), ("tuning", "Tuning"))
SPLITS = (
    ("", "as Vertex AI does it"),
    ("fraction", "at random, by fractions"),
    ("timestamp", "by time, in fractions"),
    ("stratified", "the same mixture in each part"),
    ("predefined", "as a column says"),
    ("filter", "by filters"),
)


_text = partial(line_field, longest=2000)


class PipelineForm(FoundForm):
    """What stands around the job in a pipeline."""

    task = forms.ChoiceField(label="Task", required=False, choices=TASKS, initial="custom", widget=forms.RadioSelect)
    model_name = _text("Model to upload", "Its display name; empty: nothing is uploaded.")
    model_image = _text("Serving image", "The container that serves the model.")
    parent_model = _text("Parent model", "Uploads a new version of it: projects/P/locations/REGION/models/ID.")
    model_id = _text("Model id", "For a new model; empty: Vertex AI chooses.")
    dataset = _text("Managed dataset", "Its number; empty: the code finds its data itself.")
    dataset_output = _text("Data exported to", "gs://bucket/folder")
    annotation_schema = _text("Annotation schema", "gs:// address of the schema of the labels.")
    split = forms.ChoiceField(label="Split of the data", required=False, choices=SPLITS)
    training_fraction = NumberField(label="Training", required=False)
    validation_fraction = NumberField(label="Validation", required=False)
    test_fraction = NumberField(label="Test", required=False)
    split_key = _text("Column", "The key of the data by which it is split.")
    training_filter = _text("Training filter")
    validation_filter = _text("Validation filter")
    test_filter = _text("Test filter")
