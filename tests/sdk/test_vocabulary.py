"""The emulator's data files are what Google publishes."""

import json

from tests.sdk import vocabulary


class TestData:
    """Each file against its source, in the versions that are installed."""

    def test_messages_are_those_of_the_generated_types(self) -> None:
        assert json.loads((vocabulary.DATA / "messages.json").read_text()) == vocabulary.messages()

    def test_methods_are_those_of_the_discovery_document(self) -> None:
        assert json.loads((vocabulary.DATA / "methods.json").read_text()) == {
            version: vocabulary.methods(version) for version in vocabulary.VERSIONS
        }
