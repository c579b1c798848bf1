"""Create records: names and ids, and refusals because of quota, a persistent resource or a script."""

import copy
from typing import Any

from emulator.capacity import demand
from emulator.capacity.inventory import Inventory
from emulator.capacity.resource_pools import Lending, demand_of, match_pools
from emulator.lifecycle import messages
from emulator.lifecycle.scripts import script_of
from emulator.protocol.documents import Document
from emulator.protocol.errors import exhausted, precondition
from emulator.protocol.names import new_id, project_number
from emulator.scenarios.script_rules import ScriptRules
from emulator.state.records import Job, PersistentResource, Pipeline, Study
from emulator.state.store import Store


class RecordFactory:
    """Creates records from checked documents, without saving them."""

    def __init__(self, store: Store, inventory: Inventory, lending: Lending, rules: ScriptRules) -> None:
        self._store, self._inventory, self._lending, self._rules = store, inventory, lending, rules

    def _common(self, project: str, location: str) -> dict[str, Any]:
        number, seq = project_number(project), self._store.next_seq()
        return {"project": number, "project_id": project, "location": location, "id": new_id(), "seq": seq}

    def new_job(self, document: Document, *, project: str, location: str, **fields: Any) -> Job:
        """Return a record for a CustomJob. Raise ApiError 429 for quota, 400 for a persistent resource."""
        job = Job(**self._common(project, location), document=document, **fields)
        document["name"] = job.name
        self._rules.give_script(job)
        if not job.owner:
            if script_of(job).capacity == "refused":
                raise exhausted(messages.quota([messages.CPU_QUOTA]))
            self._check_capacity(job)
        return job

    def new_trial_job(self, study: Study, trial_id: str, arguments: list[str]) -> Job:
        """Return a record for the custom job of a trial."""
        spec = copy.deepcopy(study.document["trialJobSpec"])
        for pool in spec["workerPoolSpecs"]:
            task = pool.get("containerSpec") or pool.get("pythonPackageSpec")
            if task is not None:
                task["args"] = [*task.get("args", []), *arguments]
        document = {"displayName": f"{study.document['displayName'][:110]}_trial_{trial_id}", "jobSpec": spec}
        if "labels" in study.document:
            document["labels"] = dict(study.document["labels"])
        place = {"project": study.project_id, "location": study.location}
        return self.new_job(document, **place, owner=study.name, trial=trial_id)

    def new_study(self, document: Document, *, project: str, location: str) -> Study:
        """Return a record for a HyperparameterTuningJob. Raise ApiError if its trials would be refused."""
        study = Study(**self._common(project, location), document=document)
        document["name"] = study.name
        self._check_capacity(Job(**self._common(project, location), document={"jobSpec": document["trialJobSpec"]}))
        return study

    def new_pipeline(self, document: Document, *, project: str, location: str) -> Pipeline:
        """Return a record for a TrainingPipeline."""
        pipeline = Pipeline(**self._common(project, location), document=document)
        document["name"] = pipeline.name
        return pipeline

    def new_persistent_resource(
        self, document: Document, *, project: str, location: str, identifier: str
    ) -> PersistentResource:
        """Return a record for a PersistentResource. Raise ApiError 429 for quota."""
        resource = PersistentResource(**self._common(project, location) | {"id": identifier}, document=document)
        document["name"] = resource.name
        self._check_quota(demand_of(resource))
        return resource

    def _check_capacity(self, job: Job) -> None:
        if "persistentResourceId" not in job.spec:
            self._check_quota(demand.of_job(job))
            return
        # Jobs that the persistent resource can never run: Vertex AI docs, "Run training jobs on a persistent resource".
        identifier = job.spec["persistentResourceId"]
        resource = self._lending.find(job)
        if resource is None:
            raise precondition(f"The PersistentResource {identifier} does not exist in {job.location}.")
        if resource.state != "RUNNING":
            raise precondition(f"The PersistentResource {resource.name} is in state {resource.state}, not RUNNING.")
        if any("reservationAffinity" in pool.get("machineSpec", {}) for _, pool in job.worker_pools):
            raise precondition("Reservations cannot be used together with a persistent resource.")
        runtime = resource.document.get("resourceRuntimeSpec", {}).get("serviceAccountSpec", {})
        if job.spec.get("serviceAccount") and not runtime.get("enableCustomServiceAccount"):
            raise precondition(f"The PersistentResource {identifier} does not enable custom service accounts.")
        match_pools(job, resource)

    def _check_quota(self, wanted: demand.Demand) -> None:
        over = self._inventory.over_quota(wanted)
        if over:
            raise exhausted(messages.quota(over))
