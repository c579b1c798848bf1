"""How capacity changes: by control call, by file at the start, and over time; Spot machines are reclaimed to fit.

A plan may have `"changes": [{"after": seconds, or "at": RFC 3339, ...the sections of a plan}]`, which happen when
they are due. What is to come survives a restart.
"""

from typing import Any

from emulator.capacity.ledger import Ledger
from emulator.lifecycle.engine import Engine
from emulator.protocol.documents import Document
from emulator.protocol.errors import invalid
from emulator.protocol.timestamps import moment
from emulator.state.records import Job, Phase, Plan


class Plans:
    """Keeps the plan's record."""

    def __init__(self, engine: Engine, ledger: Ledger) -> None:
        self._engine, self._ledger = engine, ledger
        self._record: Plan | None = None

    def load(self, records: list[Plan]) -> None:
        """Take up the plan of an earlier emulator."""
        for record in records:
            self._record = record
            self._ledger.change(record.document["plan"])
            for key, due in list(record.timers.items()):
                self._engine.timers.restore(record, key, due)

    def change(self, given: Document) -> None:
        """Merge a plan into the present one, its changes into those to come; ApiError 400 if it is none."""
        given = dict(given)
        changes = given.pop("changes", [])
        due = [(self._due(change), {k: v for k, v in change.items() if k not in ("after", "at")}) for change in changes]
        for _, sections in due:
            Ledger().change(sections)
        self._ledger.change(given)
        record = self._own()
        for when, sections in due:
            key = f"change:{len(record.document['changes'])}"
            record.document["changes"].append(sections)
            self._engine.timers.restore(record, key, when)
        self._apply(record)

    def clear(self) -> None:
        """Everything is there without end again, and nothing is to come."""
        record = self._own()
        record.timers.clear()
        record.document["changes"] = []
        self._ledger.plan = {}
        self._apply(record)

    def shown(self) -> Document:
        """Return plan, usage, and how many changes are to come."""
        to_come = len(self._record.timers) if self._record else 0
        return {"plan": self._ledger.plan, "used": self._ledger.usage(), "changesToCome": to_come}

    def fire(self, record: Plan, key: str) -> None:
        """A change is due."""
        self._ledger.change(record.document["changes"][int(key.partition(":")[2])])
        self._apply(record)

    def _apply(self, record: Plan) -> None:
        record.document["plan"] = self._ledger.plan
        self._engine.store.save(record)
        for region in self._ledger.plan.get("spot", {}):
            self._reclaim(region)
        self._engine.look_again()

    def _reclaim(self, region: str) -> None:
        """Reclaim Spot machines, the youngest first, until no more are taken than there are."""
        for name in reversed(self._ledger.holders(region, "spot")):
            excess = self._ledger.excess(region, "spot")
            job = self._engine.store.get(Job, name)
            if not excess or job is None:
                continue
            if job.phase in (Phase.STARTING, Phase.RUNNING):
                self._ledger.free(name)
                self._engine.preempt(job)

    def _own(self) -> Plan:
        if self._record is None:
            seq = self._engine.store.next_seq()
            document: Document = {"plan": {}, "changes": []}
            self._record = Plan(project="0", project_id="emulator", location="here", id="1", seq=seq, document=document)
            self._engine.store.add(self._record)
        return self._record

    def _due(self, change: Any) -> float:
        try:
            if "at" in change:
                return moment(change["at"])
            return self._engine.clock.now() + float(change["after"])
        except (KeyError, TypeError, ValueError):
            raise invalid("A change needs after (seconds) or at (RFC 3339).") from None
