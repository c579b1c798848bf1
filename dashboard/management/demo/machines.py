"""The demo's persistent resource: two small machines, created through the API of a new emulator."""

import json
import urllib.error
import urllib.request
from pathlib import Path

from dashboard.management.demo.people import TEAMS
from dashboard.management.supervisor.keeper import Keeper

NAME, REGION = "night-shift", "us-central1"
BODY = {
    "displayName": "Short runs, one after another",
    "resourcePools": [
        {
            "machineSpec": {"machineType": "n1-standard-4"},
            "diskSpec": {"bootDiskType": "pd-ssd", "bootDiskSizeGb": 100},
            "replicaCount": "2",
        }
    ],
}
MAX_TRIES = 60
"""One per turn of the keeper: half a minute, after which the emulator will not start any more."""
REQUEST_SECONDS = 2.0


class FirstResource:
    """A watcher of the keeper that creates the resource. It tries until the emulator has answered once."""

    def __init__(self, port_file: Path) -> None:
        """Create the watcher. `port_file` contains the port of the emulator once it is chosen."""
        self.port_file = port_file
        self.tries = 0
        self.is_done = False

    def __call__(self, keeper: Keeper) -> None:
        """Try once if it is not done. Print the reason when it gives up."""
        if self.is_done:
            return
        self.tries += 1
        problem = self.problem()
        self.is_done = not problem or self.tries >= MAX_TRIES
        if problem and self.is_done:
            keeper.console.log(f"the demo has no persistent resource: {problem}")

    def problem(self) -> str:
        """Create the resource. Return why there is none, or "". An existing one counts as created."""
        try:
            port = int(self.port_file.read_text())
            parent = f"projects/{TEAMS['vision']['project']}/locations/{REGION}"
            address = f"http://127.0.0.1:{port}/v1/{parent}/persistentResources?persistentResourceId={NAME}"
            request = urllib.request.Request(address, data=json.dumps(BODY).encode(), method="POST")
            request.add_header("Content-Type", "application/json")
            with urllib.request.urlopen(request, timeout=REQUEST_SECONDS):  # noqa: S310 loopback
                return ""
        except urllib.error.HTTPError as refusal:
            with refusal:
                return "" if refusal.code == 409 else f"{refusal.code} {refusal.reason}"
        except (OSError, ValueError) as failure:
            return str(failure) or type(failure).__name__
