"""Print a software bill of materials of the locked requirements, as CycloneDX 1.6 JSON.

Run as `make sbom`. The same lock gives the same bytes. Field names: https://cyclonedx.org/docs/1.6/json/.
"""

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

ROOT = Path(__file__).parents[1]
PACKAGE = re.compile(r"(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;\\]+)")
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
PARENT = re.compile(r"    #(?: via)?   ?(?P<name>[A-Za-z0-9._-]+)$|    # via (?P<only>[A-Za-z0-9._-]+)$")


def bill_of(lock: str) -> dict[str, Any]:
    """Return the bill of the text of a lock file of pip-compile: each package with its hashes and what needs it."""
    components: dict[str, dict[str, Any]] = {}
    needed_by: dict[str, list[str]] = {}
    ref = ""
    for line in lock.splitlines():
        if (found := PACKAGE.match(line)) is not None:
            name, version = found["name"].lower().replace("_", "-"), found["version"]
            ref = f"pkg:pypi/{name}@{version}"
            known = {"type": "library", "bom-ref": ref, "name": name, "version": version, "purl": ref}
            components[name] = known | {"properties": []}
            needed_by[ref] = []
        elif ref and (digest := HASH.search(line)) is not None:
            components[name]["properties"].append({"name": "trainboard:file:sha256", "value": digest[1]})
        elif ref and (parent := PARENT.match(line)) is not None:
            needed_by[ref].append((parent["name"] or parent["only"]).lower().replace("_", "-"))
    needs: dict[str, list[str]] = {each["bom-ref"]: [] for each in components.values()}
    for of, parents in needed_by.items():
        for parent_name in parents:
            if parent_name in components:
                needs[components[parent_name]["bom-ref"]].append(of)
    own = [of for of, parents in needed_by.items() if not set(parents) & set(components)]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid5(NAMESPACE_URL, lock)}",
        "version": 1,
        "metadata": {"component": {"type": "application", "bom-ref": "trainboard", "name": "trainboard"}},
        "components": list(components.values()),
        "dependencies": [
            {"ref": "trainboard", "dependsOn": own},
            *({"ref": of, "dependsOn": sorted(on)} for of, on in needs.items()),
        ],
    }


def main() -> None:
    """Print the bill of a lock file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lock", nargs="?", type=Path, default=ROOT / "requirements" / "run.txt")
    sys.stdout.write(json.dumps(bill_of(parser.parse_args().lock.read_text()), indent=2) + "\n")


if __name__ == "__main__":
    main()
