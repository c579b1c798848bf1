"""Write the digests of base images into Dockerfile and compose.yaml, as `name:tag@sha256:…`.

Run as `make pin-images` on a machine that reaches Docker Hub. Nothing is written unless the registry has answered for
every image. A second run updates the digests. Registry API: https://distribution.github.io/distribution/spec/api/.
"""

import re
import sys
from collections.abc import Callable
from pathlib import Path

import requests

ROOT = Path(__file__).parents[1]
FILES = (ROOT / "Dockerfile", ROOT / "compose.yaml")
IMAGE = re.compile(r"^(?P<begin>FROM |    image: )(?P<name>[a-z0-9/]+):(?P<tag>[\w.-]+)(?:@sha256:[0-9a-f]{64})?", re.M)
OWN = "trainboard"
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
KINDS = "application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.list.v2+json"
SECONDS = 20


def pinned(text: str, digest_of: Callable[[str, str], str]) -> str:
    """Return the text of a file with the digest of each base image. `digest_of` gets name and tag."""

    def pin(found: re.Match[str]) -> str:
        name, tag = found["name"], found["tag"]
        return found[0] if name == OWN else f"{found['begin']}{name}:{tag}@{digest_of(name, tag)}"

    return IMAGE.sub(pin, text)


def docker_hub(name: str, tag: str) -> str:
    """Return the digest of an official image of Docker Hub. Raise RuntimeError if the registry names none."""
    place = name if "/" in name else f"library/{name}"
    scope = {"service": "registry.docker.io", "scope": f"repository:{place}:pull"}
    token = requests.get("https://auth.docker.io/token", params=scope, timeout=SECONDS).json()["token"]
    answer = requests.head(
        f"https://registry-1.docker.io/v2/{place}/manifests/{tag}", timeout=SECONDS,
        headers={"Authorization": f"Bearer {token}", "Accept": KINDS},
    )  # fmt: skip
    digest = answer.headers.get("Docker-Content-Digest", "")
    if answer.status_code != 200 or not DIGEST.fullmatch(digest):
        raise RuntimeError(f"the registry answered {answer.status_code} and no digest for {name}:{tag}")
    return digest


def main() -> int:
    """Pin the images of all files. Return 1 and write nothing if a digest could not be read."""
    try:
        texts = {path: pinned(path.read_text(), docker_hub) for path in FILES}
    except (RuntimeError, ValueError, KeyError, requests.RequestException) as error:
        sys.stderr.write(f"Nothing was written: {error}\n")
        return 1
    for path, text in texts.items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
