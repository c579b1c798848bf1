"""The same methods over gRPC, for tools that use nothing else: `--grpc PORT`, with requirements/grpc.txt installed.

server                   the gRPC server: calls become requests to the HTTP app in this process
relay                    the port: who may connect, HTTP CONNECT for tools with a fixed endpoint, broken connections
transcoding              request messages to HTTP requests; HTTP answers to messages and statuses
services, certificate    which methods there are; the certificate that clients trust
"""

from importlib.util import find_spec

PACKAGES = ("grpc", "google.protobuf", "google.longrunning")
"""What has to be there beside the emulator's own requirements: grpcio, protobuf, googleapis-common-protos."""


def is_installed() -> bool:
    """Return whether the packages that gRPC needs are installed."""
    try:
        return all(find_spec(name) is not None for name in PACKAGES)
    except (ModuleNotFoundError, ValueError):  # a package above is missing, or is hidden (`sys.modules[name] = None`)
        return False
