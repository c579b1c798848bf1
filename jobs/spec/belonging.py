"""Where fields belong that people invent or put elsewhere. Source: 539 published specs, read 2026-11-21."""

BELONGS = {
    "stagingbucket": "It is an argument of the Python SDK; the API has `baseOutputDirectory.outputUriPrefix`.",
    "baseoutputdir": "It is an argument of the Python SDK; the API has `baseOutputDirectory.outputUriPrefix`.",
    "outputuri": "Did you mean `baseOutputDirectory.outputUriPrefix`?",
    "description": "Jobs have no description; a label can hold a short one.",
    "schedulingstrategy": "It belongs in `scheduling.strategy`.",
    "persistentdisktype": "It belongs in `workerPoolSpecs[].diskSpec.bootDiskType`.",
    "persistentdisksizegb": "It belongs in `workerPoolSpecs[].diskSpec.bootDiskSizeGb`.",
    "parameterspecs": "Did you mean `parameters`?",
    "metricspecs": "Did you mean `metrics`?",
    "parameterspec": "It belongs in `studySpec.parameters`, as a list.",
    "metricspec": "It belongs in `studySpec.metrics`, as a list.",
    "environmentvariables": "It belongs in `containerSpec.env`, as a list of name and value.",
    "minreplicacount": "Jobs do not scale; give `replicaCount`.",
    "maxreplicacount": "Jobs do not scale; give `replicaCount`.",
    **dict.fromkeys(
        ("preemptible", "spot", "usespot", "usepreemptible", "provisioningmodel"),
        "Spot is asked for with `scheduling.strategy: SPOT`, for the whole job.",
    ),
    "valuefrom": "A variable of a job holds its value; a program can read secrets itself.",
    "shmsize": "Vertex AI has no setting for shared memory.",
    "project": "It is part of the address of the request, or a flag of gcloud.",
    "region": "It is part of the address of the request, or a flag of gcloud.",
    "location": "It is part of the address of the request, or a flag of gcloud.",
}


def home_of(name: str) -> str:
    """Say where a field belongs that people often invent; "" for any other name."""
    return BELONGS.get(name.replace("_", "").replace("-", "").lower(), "")
