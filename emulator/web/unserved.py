"""The response to a request without a method here. It names the version and the method.

The status is 404, as the front end of Google's services answers an unknown path. It is not 501, because gcloud's HTTP
library (apitools, `http_wrapper.CheckResponse`) retries every status from 500 up for a minute before it shows the
message.
"""

import json
import re

from emulator.protocol.errors import ApiError, not_found
from emulator.protocol.schema import DATA

KNOWN: dict[str, dict[str, list[str]]] = json.loads((DATA / "methods.json").read_text())
"""Every method of a location at Google: `{"v1beta1": {"endpoints": ["create", ...]}}`."""
VERSION = re.compile(r"/(?P<version>v\d+\w*|ui)/")
LOCATION = re.compile(r"/\w+/projects/[^/]+/locations/(?:[^/:]+(?:/(?P<rest>[^:]+))?)(?::(?P<verb>\w+))?")
VERBS = {("GET", True): "get", ("GET", False): "list", ("POST", False): "create", ("DELETE", True): "delete"}
VERBS |= {("PATCH", True): "patch"}


def error(verb: str, path: str) -> ApiError:
    """Return the error for a request that matches no route."""
    match = VERSION.match(path)
    if match is None:
        return not_found(f"Not found: {verb} {path}")
    version = "v1" if match["version"] == "ui" else match["version"]
    name = method_name(version, verb, path)
    if name:
        return not_found(f"Method not found: the emulator does not serve {name} ({version}).")
    if version in KNOWN:
        return not_found(f"Not found: {verb} {path}. aiplatform.googleapis.com {version} has no such method.")
    served = " and ".join(KNOWN)
    return not_found(f"Not found: {verb} {path}. The emulator has no such method of {version}; it serves {served}.")


def method_name(version: str, verb: str, path: str) -> str | None:
    """Return the name of the method if it exists in this version at Google, else None."""
    match = LOCATION.fullmatch(path)
    if match is None:
        return None
    parts = match["rest"].split("/") if match["rest"] else []
    collection, is_one = ".".join(parts[::2]), len(parts) % 2 == 0
    name = match["verb"] or VERBS.get((verb, is_one), "")
    if name not in KNOWN.get(version, {}).get(collection, []):
        return None
    return ".".join(part for part in ("aiplatform.projects.locations", collection, name) if part)
