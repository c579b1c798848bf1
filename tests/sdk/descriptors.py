"""Build emulator/data/grpc.binpb.gz from Google's SDK. A test compares, `python -m tests.sdk.descriptors` writes.

The file is a FileDescriptorSet. For each version of the API, it contains one file with the gRPC methods that the
emulator's REST routes serve, their `google.api.http` rules, and every message that they need. The SDK has no
descriptors of services, so methods are taken from its gRPC transports (path, request, response) and rules from its REST
transports.
"""

import gzip
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
from google.api import annotations_pb2, http_pb2
from google.protobuf import descriptor_pb2
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FileDescriptor

from emulator.grpc.services import VARIABLE
from emulator.web import routes

FILE = Path(__file__).resolve().parents[2] / "emulator" / "data" / "grpc.binpb.gz"
VERSIONS = ("v1", "v1beta1")
MIXINS = ("google.longrunning.", "google.cloud.location.", "google.iam.")


class Recorder(grpc.Channel):
    """A channel that opens no connection and records which methods a transport calls, with their message classes."""

    def __init__(self) -> None:
        self.methods: dict[str, tuple[Any, ...]] = {}

    def unary_unary(self, method: str, request_serializer: Any, response_deserializer: Any, *_: Any, **__: Any) -> Any:
        """Record a method: path, class of the request, class of the response (Google's own messages have no owner)."""
        kinds = (getattr(each, "__self__", None) for each in (request_serializer, response_deserializer))
        self.methods[method] = tuple(kinds)
        return print

    def unary_stream(self, *_: Any, **__: Any) -> Any:
        """Skip a method that streams; none of those is served."""
        return print

    stream_unary = stream_stream = unary_stream

    def subscribe(self, *_: Any, **__: Any) -> None:
        """Have no connectivity to report."""

    def unsubscribe(self, *_: Any) -> None:
        """Have no connectivity to report."""

    def close(self) -> None:
        """Do nothing: no file is open."""


def descriptor(message: Any) -> Descriptor:
    """Return the descriptor of a proto-plus or protobuf class."""
    found: Descriptor = message.pb().DESCRIPTOR if hasattr(message, "pb") else message.DESCRIPTOR
    return found


def transports(version: str) -> Iterator[tuple[Any, Any]]:
    """Yield the gRPC transport class and the base of the REST transport of every service of a version."""
    services = importlib.import_module(f"google.cloud.aiplatform_{version}.services")
    for service in pkgutil.iter_modules(services.__path__):
        inside = f"{services.__name__}.{service.name}.transports"
        kind = "".join(part.capitalize() for part in service.name.split("_"))
        rest = importlib.import_module(f"{inside}.rest_base")
        rpc = importlib.import_module(f"{inside}.grpc")
        names = {name.lower(): name for name in dir(rpc)}
        found = names[f"{kind}GrpcTransport".lower()]
        yield getattr(rpc, found), getattr(rest, f"_Base{found.replace('Grpc', 'Rest')}")


def rules(rest: Any, method: str) -> list[http_pb2.HttpRule]:
    """Return the rules of a method that lead to a route of the emulator."""
    base = getattr(rest, f"_Base{method}", None)
    found = []
    for option in base._get_http_options() if base is not None else []:
        path = VARIABLE.sub(r"\2", option["uri"]).replace("*", "x")
        if routes.resolve(option["method"].upper(), path):
            rule = http_pb2.HttpRule(body=option.get("body", ""))
            setattr(rule, option["method"], option["uri"])
            found.append(rule)
    return found


class Package:
    """One file of the set: the services of a version with the messages and enums that they need."""

    def __init__(self, version: str) -> None:
        self.name = f"google.cloud.aiplatform.{version}"
        self.file = descriptor_pb2.FileDescriptorProto(
            name=f"google/cloud/aiplatform/{version}/emulator.proto", package=self.name, syntax="proto3"
        )
        self.types: dict[str, Descriptor | EnumDescriptor] = {}
        self.needs = {"google/api/annotations.proto"}
        self.modules: set[FileDescriptor] = set()
        for rpc, rest in transports(version):
            self.add_service(rpc, rest)
        self.add_metadata(importlib.import_module(f"google.cloud.aiplatform_{version}.types.operation"))
        self.finish()

    def add_service(self, rpc: Any, rest: Any) -> None:
        """Add the methods of a service that the emulator serves, if there are any."""
        channel = Recorder()
        transport = rpc(channel=channel)
        transport._logged_channel = channel  # its own asks ours only when a method is called
        transport._stubs.clear()
        for name, value in vars(rpc).items():
            if isinstance(value, property) and not name.startswith("_"):
                getattr(transport, name)
        service = descriptor_pb2.ServiceDescriptorProto()
        for path, (request, response) in sorted(channel.methods.items()):
            _, owner, method = path.split("/")
            found = [] if owner.startswith(MIXINS) else rules(rest, method)
            if not found:
                continue
            service.name = owner.rpartition(".")[2]
            made = service.method.add(name=method)
            made.input_type, made.output_type = (f".{self.visit(descriptor(kind))}" for kind in (request, response))
            rule = made.options.Extensions[annotations_pb2.http]
            rule.CopyFrom(found[0])
            rule.additional_bindings.extend(found[1:])
            self.modules.add(descriptor(request).file)
        if service.method:
            self.file.service.append(service)

    def add_metadata(self, operation: Any) -> None:
        """Add the messages that operations carry as `Any`."""
        self.modules.add(descriptor(operation.DeleteOperationMetadata).file)
        for file in self.modules:
            for name, message in file.message_types_by_name.items():
                if name.endswith("OperationMetadata"):
                    self.visit(message)

    def visit(self, kind: Descriptor | EnumDescriptor) -> str:
        """Note a type of the package with everything below it, a type of another as a dependency; return its name."""
        top = kind
        while top.containing_type is not None:
            top = top.containing_type
        if not kind.full_name.startswith(f"{self.name}."):
            self.needs.add(kind.file.name)
        elif top.full_name not in self.types:
            self.types[top.full_name] = top
            self.walk(top)
        return str(kind.full_name)

    def walk(self, kind: Descriptor | EnumDescriptor) -> None:
        """Visit the types of all fields, those of nested messages too."""
        if isinstance(kind, EnumDescriptor):
            return
        for field in kind.fields:
            if below := field.message_type or field.enum_type:
                self.visit(below)
        for nested in kind.nested_types:
            self.walk(nested)

    def finish(self) -> None:
        """Write types and dependencies into the file, sorted."""
        self.file.dependency.extend(sorted(self.needs))
        for _, kind in sorted(self.types.items()):
            kind.CopyToProto(
                self.file.enum_type.add() if isinstance(kind, EnumDescriptor) else self.file.message_type.add()
            )
        self.file.service.sort(key=lambda service: service.name)


def services() -> bytes:
    """Return the FileDescriptorSet."""
    made = descriptor_pb2.FileDescriptorSet(file=[Package(version).file for version in VERSIONS])
    return bytes(made.SerializeToString(deterministic=True))


if __name__ == "__main__":
    FILE.write_bytes(gzip.compress(services(), 9, mtime=0))
