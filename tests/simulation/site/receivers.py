"""The team's channel: a web server that gets messages, answers slowly, wrongly or not at all, and counts them."""

from dataclasses import dataclass, field

import requests

from tests.simulation.site.network import Answer, Request
from tests.simulation.site.process import SiteKernel


@dataclass
class Receiver:
    """Counts messages by their id. `taken`: how often each arrived; `odd`: those that arrived while something failed.

    A message may arrive again only after a failure that its sender could not tell from a loss: an answer that came too
    late, a sender that died, or a database that did not record the success.
    """

    kernel: SiteKernel
    faults: float = 0.0
    taken: dict[str, int] = field(default_factory=dict)
    repeatable: set[str] = field(default_factory=set)

    def __call__(self, request: Request) -> Answer:
        """Answer one message, after its time."""
        kernel, random = self.kernel, self.kernel.random
        is_odd = random.random() < self.faults
        outcome = random.choice(["500", "404", "lost", "slow"]) if is_odd else "ok"
        uid, process = str(request.headers["webhook-id"]), kernel.current
        kernel.sleep(min(random.uniform(0.05, 9.0) if outcome == "slow" else 0.1, request.within))
        if outcome in {"500", "404"}:
            return Answer(int(outcome))
        self.taken[uid] = self.taken.get(uid, 0) + 1
        kernel.log("The channel gets message {} of {}.", uid, request.body.get("type"))
        if outcome == "lost":
            self.repeatable.add(uid)
            kernel.sleep(request.within)
            raise requests.ReadTimeout("no answer in time")
        if process is not None:
            process.sent_last.add(uid)
        return Answer(200)
