"""The gRPC methods and their messages, from descriptors of Google's SDK that are stored as data.

data/grpc.binpb.gz is a FileDescriptorSet with the methods of `google.cloud.aiplatform` v1 and v1beta1 that the HTTP
routes serve, their `google.api.http` rules and messages. tests/sdk/descriptors.py builds it and a test compares it. It
contains definitions of Google's API, Copyright Google LLC, Apache License 2.0. It is built in advance, because the SDK
with these definitions takes 143 MB, and the discovery documents contain neither field numbers nor gRPC methods.
"""

import gzip
import re
from typing import Any, NamedTuple

from google.api import annotations_pb2, http_pb2
from google.cloud.location import locations_pb2
from google.longrunning import operations_proto_pb2
from google.protobuf import (
    descriptor_pb2,
    duration_pb2,
    empty_pb2,
    field_mask_pb2,
    message_factory,
    struct_pb2,
    timestamp_pb2,
    wrappers_pb2,
)
from google.protobuf.descriptor import FileDescriptor
from google.protobuf.descriptor_pool import DescriptorPool
from google.rpc import error_details_pb2, status_pb2

from emulator.protocol.schema import DATA

FILE = DATA / "grpc.binpb.gz"
SHARED = (
    *(duration_pb2, empty_pb2, field_mask_pb2, struct_pb2, timestamp_pb2, wrappers_pb2),
    *(annotations_pb2, operations_proto_pb2, locations_pb2, error_details_pb2, status_pb2),
)
"""Imports of the data file, and the messages of errors, from protobuf and googleapis-common-protos."""
VARIABLE = re.compile(r"\{([\w.]+)=([^}]*)\}")
OPERATIONS, LOCATIONS = "google.longrunning.Operations", "google.cloud.location.Locations"
ANY_OPERATION = "{name=projects/*/locations/**/operations/*}"
MIXINS = {
    # `/ui/` answers with the types of the version in which the operation was started. These services have no version.
    f"/{OPERATIONS}/GetOperation": http_pb2.HttpRule(get=f"/ui/{ANY_OPERATION}"),
    f"/{OPERATIONS}/ListOperations": http_pb2.HttpRule(get="/ui/{name=projects/*/locations/**}/operations"),
    f"/{OPERATIONS}/WaitOperation": http_pb2.HttpRule(post=f"/ui/{ANY_OPERATION}:wait", body="*"),
    f"/{OPERATIONS}/CancelOperation": http_pb2.HttpRule(post=f"/ui/{ANY_OPERATION}:cancel"),
    f"/{OPERATIONS}/DeleteOperation": http_pb2.HttpRule(delete=f"/ui/{ANY_OPERATION}"),
    f"/{LOCATIONS}/GetLocation": http_pb2.HttpRule(get="/ui/{name=projects/*/locations/*}"),
    f"/{LOCATIONS}/ListLocations": http_pb2.HttpRule(get="/ui/{name=projects/*}/locations"),
}
"""The rules of the services that every Google API has besides its own (those of `aiplatform_v1.yaml`)."""


class Rule(NamedTuple):
    """One HTTP mapping of a method. `template` is the path, with `{field}` for the request's fields."""

    verb: str
    template: str
    variables: dict[str, re.Pattern[str]]
    body: str


class Method(NamedTuple):
    """One gRPC method."""

    path: str
    request: Any
    response: Any
    rules: list[Rule]


def _rule(http_rule: http_pb2.HttpRule) -> Rule:
    verb = http_rule.WhichOneof("pattern")
    text = getattr(http_rule, verb)
    variables = {name: _pattern(path) for name, path in VARIABLE.findall(text)}
    return Rule(verb.upper(), VARIABLE.sub(r"{\1}", text), variables, http_rule.body)


def _pattern(path: str) -> re.Pattern[str]:
    """Return the pattern for `projects/*/locations/**`. No segment contains a slash or the colon of a custom verb."""
    parts = {"*": "[^/:]+", "**": "[^:]+"}
    return re.compile("/".join(parts.get(part) or re.escape(part) for part in path.split("/")))


class Services:
    """All methods by path (`/package.Service/Method`), in a separate descriptor pool."""

    def __init__(self) -> None:
        """Load the descriptors."""
        self.pool = DescriptorPool()
        self.methods: dict[str, Method] = {}
        self._added: set[str] = set()
        for module in SHARED:
            self._add_file(module.DESCRIPTOR)
        # Parse them here, where the extension with the rules is known.
        files = descriptor_pb2.FileDescriptorSet.FromString(gzip.decompress(FILE.read_bytes()))
        for file in files.file:
            self.pool.Add(file)
            for service in file.service:
                for method in service.method:
                    http_rule = method.options.Extensions[annotations_pb2.http]
                    path = f"/{file.package}.{service.name}/{method.name}"
                    self._add_method(path, [http_rule, *http_rule.additional_bindings])
        for path, http_rule in MIXINS.items():
            self._add_method(path, [http_rule])
        self.status = self.message("google.rpc.Status")

    def _add_file(self, file: FileDescriptor) -> None:
        """Add a file of googleapis-common-protos or protobuf with its dependencies."""
        if file.name not in self._added:
            self._added.add(file.name)
            for needed in file.dependencies:
                self._add_file(needed)
            self.pool.AddSerializedFile(file.serialized_pb)

    def _add_method(self, path: str, rules: list[http_pb2.HttpRule]) -> None:
        service, _, name = path.removeprefix("/").partition("/")
        method = self.pool.FindServiceByName(service).methods_by_name[name]
        request, response = (self.message(each.full_name) for each in (method.input_type, method.output_type))
        self.methods[path] = Method(path, request, response, [_rule(rule) for rule in rules])

    def message(self, name: str) -> Any:
        """Return a message class by its full name."""
        return message_factory.GetMessageClass(self.pool.FindMessageTypeByName(name))
