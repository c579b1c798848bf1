"""Changes of capacity: by control call, from a file at the start, and over time. Spot machines are reclaimed to fit.

A plan may have `"changes": [{"after": seconds, or "at": RFC 3339, ...the sections of a plan}]`. Each is applied when it
is due. They survive a restart.
"""

from typing import Any

from emulator.capacity.inventory import Inventory
from emulator.lifecycle.engine import Engine
from emulator.protocol.documents import Document
from emulator.protocol.errors import invalid
from emulator.protocol.timestamps import parse_time
from emulator.state.records import CapacityPlan, Job


class CapacityPlans:
    """Stores the plan and applies its changes."""

    def __init__(self, engine: Engine, inventory: Inventory) -> None:
        self._engine, self._runtime, self._inventory = engine, engine.runtime, inventory
        self._record: CapacityPlan | None = None

    def restore(self, records: list[CapacityPlan]) -> None:
        """Restore the plan of an earlier emulator process."""
        for record in records:
            self._record = record
            self._inventory.update_plan(record.document["plan"])
            self._runtime.timers.restore(record)

    def change(self, plan: Document) -> None:
        """Merge a plan into the current one, and its changes into the pending ones.

        Raise ApiError 400 if it is invalid.
        """
        plan = dict(plan)
        changes = plan.pop("changes", [])
        due = [(self._due(change), {k: v for k, v in change.items() if k not in ("after", "at")}) for change in changes]
        for _, sections in due:
            Inventory().update_plan(sections)
        self._inventory.update_plan(plan)
        record = self._get_record()
        for when, sections in due:
            key = f"change:{len(record.document['changes'])}"
            record.document["changes"].append(sections)
            self._runtime.timers.set_at(record, key, when)
        self._apply(record)

    def clear(self) -> None:
        """Remove all limits and all pending changes."""
        record = self._get_record()
        record.timers.clear()
        record.document["changes"] = []
        self._inventory.plan = {}
        self._apply(record)

    def show(self) -> Document:
        """Return the plan, its usage, and the number of pending changes."""
        to_come = len(self._record.timers) if self._record else 0
        return {"plan": self._inventory.plan, "used": self._inventory.usage(), "changesToCome": to_come}

    def fire(self, record: CapacityPlan, key: str) -> None:
        """Apply a due change."""
        self._inventory.update_plan(record.document["changes"][int(key.partition(":")[2])])
        self._apply(record)

    def _apply(self, record: CapacityPlan) -> None:
        record.document["plan"] = self._inventory.plan
        self._runtime.store.save(record)
        for region in self._inventory.plan.get("spot", {}):
            # Youngest jobs first, until no more machines are allocated than exist.
            for name in reversed(self._inventory.holders(region, "spot")):
                job = self._runtime.store.get(Job, name)
                if job is not None and job.has_started and self._inventory.excess(region, "spot"):
                    self._inventory.release(name)
                    self._engine.preempt(job)
        self._engine.admit_waiting()

    def _get_record(self) -> CapacityPlan:
        if self._record is None:
            seq = self._runtime.store.next_seq()
            document: Document = {"plan": {}, "changes": []}
            self._record = CapacityPlan(
                project="0", project_id="emulator", location="here", id="1", seq=seq, document=document
            )
            self._runtime.store.add(self._record)
        return self._record

    def _due(self, change: Any) -> float:
        try:
            if "at" in change:
                return parse_time(change["at"])
            return self._runtime.clock.now() + float(change["after"])
        except (KeyError, TypeError, ValueError):
            raise invalid("A change needs either after (seconds) or at (RFC 3339).") from None
