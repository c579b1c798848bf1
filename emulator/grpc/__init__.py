"""The same methods over gRPC, for tools without REST support: `--grpc PORT`, with requirements/grpc.txt installed.

server                   the gRPC server: turns calls into requests to the HTTP app in this process
relay                    the port: access control, HTTP CONNECT for tools with a fixed endpoint, broken connections
transcoding              request messages to HTTP requests; HTTP responses to messages and statuses
services, certificate    the methods; the certificate that clients trust
"""

from importlib.util import find_spec

PACKAGES = ("grpc", "google.protobuf", "google.longrunning")
"""Required packages besides the emulator's own: grpcio, protobuf, googleapis-common-protos."""


def is_installed() -> bool:
    """Return whether the packages that gRPC needs are installed."""
    try:
        return all(find_spec(name) is not None for name in PACKAGES)
    except (ModuleNotFoundError, ValueError):  # a parent package is missing or hidden (`sys.modules[name] = None`)
        return False
