"""Write the names of the SDK's arguments, in their order, as the importer reads them.

`python -m tests.support.sdk_signatures` writes the table of the google-cloud-aiplatform that is installed into
`jobs/importer/sdk_signatures.json`. Run it when the requirements have a new version.
"""

import inspect
import json
from typing import Any

from google.cloud import aiplatform
from google.cloud.aiplatform import gapic, hyperparameter_tuning

from jobs.importer.sdk_names import SIGNATURES_FILE

CLASSES = (
    aiplatform.CustomJob,
    aiplatform.HyperparameterTuningJob,
    aiplatform.CustomContainerTrainingJob,
    aiplatform.CustomPythonPackageTrainingJob,
    aiplatform.CustomTrainingJob,
    hyperparameter_tuning.DoubleParameterSpec,
    hyperparameter_tuning.IntegerParameterSpec,
    hyperparameter_tuning.CategoricalParameterSpec,
    hyperparameter_tuning.DiscreteParameterSpec,
)
METHODS = ("run", "submit", "from_local_script")
CREATES = ("create_custom_job", "create_hyperparameter_tuning_job", "create_training_pipeline")


def table() -> dict[str, Any]:
    """Return the version, and for each call the arguments that may be given by position, then the others."""
    calls = {made.__name__: _names(made) for made in CLASSES}
    calls |= {
        f"{made.__name__}.{name}": _names(getattr(made, name))
        for made in CLASSES
        for name in METHODS
        if hasattr(made, name)
    }
    clients = (gapic.JobServiceClient, gapic.PipelineServiceClient)
    calls |= {name: _names(getattr(each, name)) for name in CREATES for each in clients if hasattr(each, name)}
    calls["init"] = _names(aiplatform.init)
    return {"version": aiplatform.__version__, "calls": calls}


def _names(call: Any) -> dict[str, list[str]]:
    parameters = [each for each in inspect.signature(call).parameters.values() if each.name != "self"]
    placed = [each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]
    return {"positions": placed, "names": [each.name for each in parameters if each.kind is each.KEYWORD_ONLY]}


if __name__ == "__main__":
    SIGNATURES_FILE.write_text(json.dumps(table(), indent=1) + "\n")
