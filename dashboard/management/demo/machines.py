"""The demo's persistent resource: two small machines, made through the emulator's API when the emulator is new."""

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
"""One for each turn of the keeper: half a minute, in which the emulator has started or never will."""
REQUEST_SECONDS = 2.0


class FirstResource:
    """A watcher of the keeper: asks the emulator of this machine for the resource until it has answered, then never."""

    def __init__(self, port_file: Path) -> None:
        """`port_file` holds the port of the emulator once it is chosen."""
        self.port_file = port_file
        self.tries = 0
        self.is_done = False

    def __call__(self, keeper: Keeper) -> None:
        """Ask once, if it is still to be done; print when it could not be."""
        if self.is_done:
            return
        self.tries += 1
        problem = self.problem()
        self.is_done = not problem or self.tries >= MAX_TRIES
        if problem and self.is_done:
            keeper.console.log(f"the demo has no persistent resource: {problem}")

    def problem(self) -> str:
        """Create the resource; return why there is none, or an empty string. One that is there already is enough."""
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
