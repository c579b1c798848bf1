"""Tests that the emulator's data files match what Google publishes."""

import gzip
import json

from tests.sdk import descriptors, vocabulary


class TestData:
    """Each file against its source, in the versions that are installed."""

    def test_messages_are_those_of_the_generated_types(self) -> None:
        assert json.loads((vocabulary.DATA / "messages.json").read_text()) == vocabulary.messages()

    def test_methods_are_those_of_the_discovery_document(self) -> None:
        assert json.loads((vocabulary.DATA / "methods.json").read_text()) == {
            version: vocabulary.methods(version) for version in vocabulary.VERSIONS
        }

    def test_grpc_methods_are_those_of_the_sdk_that_http_serves(self) -> None:
        assert gzip.decompress(descriptors.FILE.read_bytes()) == descriptors.services()
