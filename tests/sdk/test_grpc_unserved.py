"""Tests of gRPC methods that the emulator does not serve: UNIMPLEMENTED, which no client repeats."""

from collections.abc import Iterator

import grpc
import pytest

from tests.sdk.test_grpc import PARENT, channel_to
from tests.support import certificates
from tests.support.running_emulator import Running, running


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """An emulator that serves gRPC."""
    state = tmp_path_factory.mktemp("unserved") / "state"
    certificates.give(state)
    with running(state, scripted=True, grpc=True) as emulator:
        yield emulator


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("aiplatform.v1.EndpointService/ListEndpoints", ""),
        ("aiplatform.v1.PredictionService/StreamRawPredict", ""),
        ("aiplatform.v1beta1.FeaturestoreService/CreateFeaturestore", ""),
        # The method is served, but not for the operations of endpoints.
        ("longrunning.Operations/GetOperation", f"{PARENT}/endpoints/1/operations/2"),
    ],
)
def test_is_unimplemented(served: Running, path: str, message: str) -> None:
    prefix = "google" if path.startswith("longrunning") else "google.cloud"
    data = b"\x0a" + bytes([len(message)]) + message.encode() if message else b""
    with channel_to(served) as channel, pytest.raises(grpc.RpcError) as refused:
        channel.unary_unary(f"/{prefix}.{path}")(data, timeout=20)

    assert refused.value.code() == grpc.StatusCode.UNIMPLEMENTED
