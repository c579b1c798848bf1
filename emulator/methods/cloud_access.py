"""Permissions of an account and enabled services: testIamPermissions of projects, buckets and accounts, batchGet.

Everything is allowed and enabled until the control plane denies permissions or disables services (`/_emulator/access`).
Sources: the discovery documents of cloudresourcemanager v3, storage v1, iam v1 and serviceusage v1 in
google-api-python-client 2.202.0, read 2026-11-23.
"""

from typing import Any

from emulator.emulator import Emulator
from emulator.protocol.calls import Call
from emulator.protocol.documents import Document
from emulator.protocol.errors import invalid
from emulator.protocol.names import project_number

MAX_SERVICES = 30
"""Maximum services in one batchGet (serviceusage v1, BatchGetServicesRequest)."""


def test_permissions(emulator: Emulator, call: Call) -> Document:
    """Return the named permissions that the caller has in a project or on a service account."""
    body = call.json()
    named = body.get("permissions") if isinstance(body, dict) else None
    if not _is_texts(named) or not named or any("*" in each for each in named):
        raise invalid("Request contains an invalid argument: permissions must name permissions without wildcards.")
    return _granted(emulator, list(named))


def test_bucket_permissions(emulator: Emulator, call: Call) -> Document:
    """Return the permissions named in the query that the caller has on a bucket."""
    emulator.buckets.bucket(call.params["bucket"])
    return {"kind": "storage#testIamPermissionsResponse", **_granted(emulator, call.all("permissions"))}


def get_services(emulator: Emulator, call: Call) -> Document:
    """Return the state of the named services in a project."""
    names = call.all("names")
    if not names or len(names) > MAX_SERVICES:
        raise invalid(f"Request contains an invalid argument: names must have 1 to {MAX_SERVICES} items.")
    project = f"projects/{project_number(call.params['project'])}"
    services = []
    for service in (name.rpartition("/")[2] for name in names):
        state = "DISABLED" if service in emulator.disabled else "ENABLED"
        about = {"name": f"{project}/services/{service}", "parent": project}
        services.append({**about, "state": state, "config": {"name": service}})
    return {"services": services}


def show_access(emulator: Emulator, call: Call) -> Document:  # noqa: ARG001
    """Return the denied permissions and disabled services."""
    return {"deny": sorted(emulator.denied), "disable": sorted(emulator.disabled)}


def change_access(emulator: Emulator, call: Call) -> Document:
    """Replace denied permissions and disabled services by `{"deny": [permission], "disable": [service]}`."""
    body = call.json()
    known = {"deny", "disable"}
    if not isinstance(body, dict) or set(body) - known or not all(_is_texts(value) for value in body.values()):
        raise invalid("The body must be a JSON object with deny and disable, which are lists of text.")
    emulator.denied = frozenset(body.get("deny", ()))
    emulator.disabled = frozenset(body.get("disable", ()))
    return show_access(emulator, call)


def _granted(emulator: Emulator, named: list[str]) -> Document:
    held = [each for each in named if each not in emulator.denied]
    return {"permissions": held} if held else {}


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)
