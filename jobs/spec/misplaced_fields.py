"""The right place of fields that people often invent or misplace. Source: 539 published specs, read 2026-11-21."""

from jobs.texts import translatable as _

MISPLACED = {
    "stagingbucket": _("It is an argument of the Python SDK; the API has `baseOutputDirectory.outputUriPrefix`."),
    "baseoutputdir": _("It is an argument of the Python SDK; the API has `baseOutputDirectory.outputUriPrefix`."),
    "outputuri": _("Did you mean `%(near)s`?", near="baseOutputDirectory.outputUriPrefix"),
    "description": _("Jobs have no description; a label can hold a short one."),
    "schedulingstrategy": _("It belongs in `%(place)s`.", place="scheduling.strategy"),
    "persistentdisktype": _("It belongs in `%(place)s`.", place="workerPoolSpecs[].diskSpec.bootDiskType"),
    "persistentdisksizegb": _("It belongs in `%(place)s`.", place="workerPoolSpecs[].diskSpec.bootDiskSizeGb"),
    "parameterspecs": _("Did you mean `%(near)s`?", near="parameters"),
    "metricspecs": _("Did you mean `%(near)s`?", near="metrics"),
    "parameterspec": _("It belongs in `%(place)s`, as a list.", place="studySpec.parameters"),
    "metricspec": _("It belongs in `%(place)s`, as a list.", place="studySpec.metrics"),
    "environmentvariables": _("It belongs in `containerSpec.env`, as a list of name and value."),
    "minreplicacount": _("Jobs are not autoscaled; set `replicaCount`."),
    "maxreplicacount": _("Jobs are not autoscaled; set `replicaCount`."),
    **dict.fromkeys(
        ("preemptible", "spot", "usespot", "usepreemptible", "provisioningmodel"),
        _("Spot is asked for with `scheduling.strategy: SPOT`, for the whole job."),
    ),
    "valuefrom": _("A variable of a job holds its value; a program can read secrets itself."),
    "shmsize": _("Vertex AI has no setting for shared memory."),
    "project": _("It is part of the address of the request, or a flag of gcloud."),
    "region": _("It is part of the address of the request, or a flag of gcloud."),
    "location": _("It is part of the address of the request, or a flag of gcloud."),
}


def describe_misplaced(name: str) -> str:
    """Return a sentence with the right place of a field that people often invent; "" for any other name."""
    return MISPLACED.get(name.replace("_", "").replace("-", "").lower(), "")
