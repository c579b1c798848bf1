"""Tests of what is specific to gRPC: statuses, faults, deadlines, masks and access, with Google's clients."""

import contextlib
import json
import socket
import ssl
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.api_core import exceptions
from google.auth.credentials import AnonymousCredentials
from google.cloud import aiplatform_v1 as v1
from google.longrunning import operations_pb2, operations_pb2_grpc
from google.oauth2.credentials import Credentials
from google.protobuf import duration_pb2, field_mask_pb2

from emulator.grpc import certificate, server
from emulator.grpc.relay import ACCESS_DENIED
from tests.sdk.test_custom_jobs import pools
from tests.support import certificates, users
from tests.support.running_emulator import Running, running
from tests.support.users import NOBODY, needs_root
from tests.unit.emulator.conftest import START, until

PARENT = "projects/demo/locations/us-central1"
JOB = {"display_name": "a job", "job_spec": {"worker_pool_specs": pools("pass")}}


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Running]:
    """A scripted emulator that answers gRPC too."""
    certificates.give(tmp_path / "state")
    with running(tmp_path / "state", scripted=True, start=START, grpc=True) as emulator:
        yield emulator


def client_at(address: str, credentials: Any = None, kind: Any = v1.JobServiceClient) -> Any:
    """A generated client without retries of its own."""
    return kind(credentials=credentials or AnonymousCredentials(), client_options={"api_endpoint": address})


@pytest.fixture
def jobs(served: Running) -> Any:
    """Google's client of the job service."""
    with client_at(served.grpc) as client:
        yield client


def create(jobs: Any, **more: Any) -> Any:
    """Create a job once."""
    return jobs.create_custom_job(parent=PARENT, custom_job=JOB, retry=None, **more)


def channel_to(emulator: Running) -> grpc.Channel:
    """A channel without Google's layers."""
    roots = (emulator.state / certificate.CERTIFICATE_FILE).read_bytes()
    return grpc.secure_channel(emulator.grpc, grpc.ssl_channel_credentials(roots))


def port_of(emulator: Running) -> int:
    """Where gRPC is answered."""
    return int(emulator.grpc.rpartition(":")[2])


class TestStatuses:
    def test_names_the_wrong_field_in_the_details(self, jobs: Any) -> None:
        with pytest.raises(exceptions.InvalidArgument) as refused:
            jobs.create_custom_job(parent=PARENT, custom_job={"job_spec": {"worker_pool_specs": [{}]}})

        fields = [each.field for detail in refused.value.details for each in detail.field_violations]
        assert "display_name" in " ".join(fields), refused.value

    def test_of_many_findings_fit_into_the_trailers(self, jobs: Any) -> None:
        wrong = {"display_name": "ä" * 5_000, "job_spec": {"worker_pool_specs": [{"replica_count": 1}] * 200}}

        with pytest.raises(exceptions.InvalidArgument):
            jobs.create_custom_job(parent=PARENT, custom_job=wrong)

    @pytest.mark.parametrize("name", ["", "nonsense", PARENT, f"{PARENT}/customJobs/", f"{PARENT}/customJobs/1:cancel"])
    def test_of_a_malformed_name(self, jobs: Any, name: str) -> None:
        with pytest.raises(exceptions.InvalidArgument, match=r"Invalid resource field value in the request: name"):
            jobs.get_custom_job(name=name)

    def test_of_what_is_not_there(self, jobs: Any) -> None:
        with pytest.raises(exceptions.NotFound, match="does not exist"):
            jobs.get_custom_job(name=f"{PARENT}/customJobs/1")

    def test_of_bytes_that_are_no_message(self, served: Running) -> None:
        with channel_to(served) as channel, pytest.raises(grpc.RpcError) as refused:
            channel.unary_unary("/google.cloud.aiplatform.v1.JobService/GetCustomJob")(b"\xff\xff", timeout=20)

        assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT

    def test_of_a_bug_is_internal_and_logged(
        self, served: Running, jobs: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.setattr("emulator.grpc.transcoding.Transcoder.answer", lambda *_: 1 / 0)

        with pytest.raises(exceptions.InternalServerError, match="Internal error encountered"):
            list(jobs.list_custom_jobs(parent=PARENT))
        assert "a call failed" in caplog.text

    def test_of_a_method_of_nobody(self, served: Running) -> None:
        with (
            channel_to(served) as channel,
            pytest.raises(grpc.RpcError, match=r"does not serve a\.b\.C\.Get") as refused,
        ):
            channel.unary_unary("/a.b.C/Get")(b"", timeout=20)

        assert refused.value.code() == grpc.StatusCode.UNIMPLEMENTED


class TestFaults:
    @pytest.mark.parametrize(
        ("kind", "expected"),
        [
            ("400", exceptions.InvalidArgument),
            ("403", exceptions.PermissionDenied),
            ("404", exceptions.NotFound),
            ("409", exceptions.Aborted),
            ("429", exceptions.ResourceExhausted),
            ("500", exceptions.InternalServerError),
            ("503", exceptions.ServiceUnavailable),
            ("504", exceptions.DeadlineExceeded),
            ("html", exceptions.ServiceUnavailable),
            ("truncated", exceptions.InternalServerError),
            ("reset", exceptions.ServiceUnavailable),
            ("lost", exceptions.ServiceUnavailable),
        ],
    )
    def test_strike_and_then_let_pass(self, served: Running, jobs: Any, kind: str, expected: type[Exception]) -> None:
        served.fault(kind, "customJobs.create", times=1, message="as planned")

        with pytest.raises(expected):
            create(jobs)
        if kind in ("lost", "reset"):
            with contextlib.suppress(exceptions.ServiceUnavailable):  # sent before the channel knew that it was gone
                jobs.list_custom_jobs(parent=PARENT)
        assert len(list(jobs.list_custom_jobs(parent=PARENT))) == (kind in ("lost", "truncated"))
        assert create(jobs).display_name == "a job"
        assert [plan["struck"] for plan in served.truth()["faults"]] == [1]

    def test_say_when_to_come_back(self, served: Running, jobs: Any) -> None:
        served.fault("429", retry_after=7, times=1)

        with pytest.raises(exceptions.ResourceExhausted) as refused:
            create(jobs)
        assert [detail.retry_delay.seconds for detail in refused.value.details] == [7]

    def test_break_the_real_connection_and_no_other(self, served: Running) -> None:
        path = "/google.cloud.aiplatform.v1.JobService/ListCustomJobs"
        request = v1.ListCustomJobsRequest.serialize(v1.ListCustomJobsRequest(parent=PARENT))
        with channel_to(served) as struck, channel_to(served) as other:
            states: list[grpc.ChannelConnectivity] = []
            for channel in (struck, other):
                channel.unary_unary(path)(request, timeout=20)
            other.subscribe(states.append)
            served.fault("reset", "customJobs.list", times=1)
            with pytest.raises(grpc.RpcError, match=r"(?i)reset|closed|broken pipe") as broken:
                struck.unary_unary(path)(request, timeout=20)
            assert broken.value.code() == grpc.StatusCode.UNAVAILABLE

            def works_again() -> bool:
                with contextlib.suppress(grpc.RpcError):  # sent before the channel knew that its connection was gone
                    return struck.unary_unary(path)(request, timeout=20, wait_for_ready=True) is not None
                return False

            until(works_again)
            assert set(states) <= {grpc.ChannelConnectivity.READY}

    def test_a_list_is_stale(self, served: Running, jobs: Any) -> None:
        create(jobs)
        served.fault("stale", "customJobs.list", seconds=60, times=1)

        assert list(jobs.list_custom_jobs(parent=PARENT)) == []
        assert len(list(jobs.list_custom_jobs(parent=PARENT))) == 1

    def test_a_create_that_comes_after_the_deadline_is_carried_out(self, served: Running, jobs: Any) -> None:
        served.fault("slow", "customJobs.create", seconds=0.6, times=1)

        with pytest.raises(exceptions.DeadlineExceeded):
            create(jobs, timeout=0.2)
        until(lambda: len(list(jobs.list_custom_jobs(parent=PARENT))) == 1)

    def test_a_cancelled_call_ends_at_once(self, served: Running) -> None:
        served.fault("slow", "customJobs.list", seconds=30)
        request = v1.ListCustomJobsRequest.serialize(v1.ListCustomJobsRequest(parent=PARENT))
        with channel_to(served) as channel:
            call = channel.unary_unary("/google.cloud.aiplatform.v1.JobService/ListCustomJobs").future(request)
            until(lambda: served.truth()["faults"][0]["struck"])
            call.cancel()
            assert call.code() == grpc.StatusCode.CANCELLED


class TestMasks:
    def test_of_a_list_and_of_any_answer(self, jobs: Any) -> None:
        made = create(jobs)
        wanted = v1.ListCustomJobsRequest(
            parent=PARENT, read_mask=field_mask_pb2.FieldMask(paths=["display_name", "job_spec.worker_pool_specs"])
        )

        (found,) = jobs.list_custom_jobs(request=wanted)
        assert (found.name, found.display_name, len(found.job_spec.worker_pool_specs)) == ("", "a job", 1)
        part = jobs.get_custom_job(name=made.name, metadata=[("x-goog-fieldmask", "state")])
        assert (part.name, bool(part.state)) == ("", True)

    def test_of_an_update(self, served: Running) -> None:
        client = client_at(served.grpc, kind=v1.PersistentResourceServiceClient)
        pool = {"machine_spec": {"machine_type": "n1-standard-4"}, "replica_count": 1}
        client.create_persistent_resource(
            parent=PARENT, persistent_resource={"resource_pools": [pool]}, persistent_resource_id="team"
        )
        served.advance(600)
        name = f"{PARENT}/persistentResources/team"
        changed = {"name": name, "display_name": "renamed", "labels": {"team": "red"}}
        client.update_persistent_resource(
            persistent_resource=changed, update_mask=field_mask_pb2.FieldMask(paths=["display_name"])
        )
        served.advance(600)

        found = client.get_persistent_resource(name=name)
        assert (found.display_name, dict(found.labels)) == ("renamed", {})


class TestOperations:
    def test_are_got_listed_waited_for_and_deleted(self, served: Running, jobs: Any) -> None:
        client = client_at(served.grpc, kind=v1.PersistentResourceServiceClient)
        pool = {"machine_spec": {"machine_type": "n1-standard-4"}, "replica_count": 1}
        begun = client.create_persistent_resource(
            parent=PARENT, persistent_resource={"resource_pools": [pool]}, persistent_resource_id="team"
        )
        name, holder = begun.operation.name, begun.operation.name.partition("/operations/")[0]
        with channel_to(served) as channel:
            stub = operations_pb2_grpc.OperationsStub(channel)
            waited = operations_pb2.WaitOperationRequest(name=name, timeout=duration_pb2.Duration(nanos=100_000_000))
            assert not stub.WaitOperation(waited, timeout=20).done
            listed = stub.ListOperations(operations_pb2.ListOperationsRequest(name=holder), timeout=20)
            assert [each.name for each in listed.operations] == [name]
            stub.CancelOperation(operations_pb2.CancelOperationRequest(name=name), timeout=20)
            served.advance(3_600)
            done = stub.GetOperation(operations_pb2.GetOperationRequest(name=name), timeout=20)
            assert done.done
            assert done.response.type_url.endswith("aiplatform.v1.PersistentResource")
            stub.DeleteOperation(operations_pb2.DeleteOperationRequest(name=name), timeout=20)
            assert not stub.ListOperations(operations_pb2.ListOperationsRequest(name=holder), timeout=20).operations


class TestConnections:
    @needs_root
    def test_of_another_user_are_refused_before_a_byte_is_read(self, served: Running) -> None:
        for request in (
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            b"CONNECT x",
        ):
            assert users.send(request, user=NOBODY, port=port_of(served)) == ACCESS_DENIED
        allowed = users.send(b"CONNECT 127.0.0.1:1 HTTP/1.1\r\n\r\n", user=0, port=port_of(served))
        assert allowed.startswith(b"HTTP/1.1 403 "), "our own is answered"

    def test_of_another_user_are_told_so_by_tls(self, served: Running, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("emulator.web.owner_check.find_owner", lambda *_: NOBODY)
        context = ssl.create_default_context(cafile=str(served.state / certificate.CERTIFICATE_FILE))
        with (
            socket.create_connection(("127.0.0.1", port_of(served)), timeout=20) as plain,
            pytest.raises(ssl.SSLError, match=r"(?i)access.denied"),
        ):
            context.wrap_socket(plain, server_hostname="localhost")

    def test_reach_the_server_only_through_the_port(self, served: Running) -> None:
        folder = Path((served.state / "grpc-folder").read_text())

        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert [each.name for each in folder.iterdir()] == ["server"]

    def test_leave_nothing_behind(self, tmp_path: Path) -> None:
        before = set(threading.enumerate())
        certificates.give(tmp_path / "state")
        with running(tmp_path / "state", scripted=True, grpc=True) as emulator:
            folder = Path((emulator.state / "grpc-folder").read_text())
            with client_at(emulator.grpc) as client:
                create(client)
        assert not folder.exists()
        assert not (tmp_path / "state" / "grpc-folder").exists()
        assert not [thread for thread in threading.enumerate() if thread not in before and thread.name == "emulator"]

    def test_may_send_nonsense(self, served: Running, jobs: Any) -> None:
        address = ("127.0.0.1", port_of(served))
        for given in (b"GET / HTTP/1.1\r\n\r\n", b"C", b"CONNECT", b"CONNECT a:b HTTP/9\r\n\r\n", b"C" * 200_000):
            # The server may hang up at any byte.
            with socket.create_connection(address, timeout=20) as client, contextlib.suppress(ConnectionError):
                client.sendall(given)
                with contextlib.suppress(OSError):  # not connected any more
                    client.shutdown(socket.SHUT_WR)
                while client.recv(65_536):
                    pass

        assert create(jobs).name


class TestProxy:
    """What tools that call Vertex AI by its own name need."""

    def ask(self, emulator: Running, host: str, authorization: str = "") -> tuple[bytes, socket.socket]:
        client = socket.create_connection(("127.0.0.1", port_of(emulator)), timeout=20)
        extra = f"Proxy-Authorization: Basic {authorization}\r\n" if authorization else ""
        client.sendall(f"CONNECT {host}:443 HTTP/1.1\r\nHost: {host}\r\n{extra}\r\n".encode())
        return client.recv(65_536), client

    def test_leads_to_the_certificate_of_a_region(self, served: Running) -> None:
        context = ssl.create_default_context(cafile=str(served.state / certificate.CERTIFICATE_FILE))
        host = "europe-west4-aiplatform.googleapis.com"
        answer, client = self.ask(served, host)
        assert answer.startswith(b"HTTP/1.1 200 ")
        with client, context.wrap_socket(client, server_hostname=host) as secure:
            assert secure.version() == "TLSv1.3"

    @pytest.mark.parametrize("host", ["example.com", "storage.googleapis.com", "aiplatform.googleapis.com.example.com"])
    def test_leads_nowhere_else(self, served: Running, host: str) -> None:
        answer, client = self.ask(served, host)
        client.close()

        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 403 ")
        assert host in json.loads(body)["error"]["message"]


class TestCredential:
    @pytest.fixture
    def demanding(self, tmp_path: Path) -> Iterator[Running]:
        """An emulator as on a system that does not tell whose a connection is."""
        certificates.give(tmp_path / "state")
        with running(tmp_path / "state", scripted=True, demands_credential=True, grpc=True) as emulator:
            yield emulator

    def test_is_demanded_of_every_call(self, demanding: Running) -> None:
        with client_at(demanding.grpc) as client, pytest.raises(exceptions.PermissionDenied, match="file credential"):
            client.get_custom_job(name=f"{PARENT}/customJobs/1")
        with client_at(demanding.grpc, Credentials("wrong")) as client, pytest.raises(exceptions.PermissionDenied):
            create(client)

    def test_lets_in_as_a_token(self, demanding: Running) -> None:
        secret = (demanding.state / "credential").read_text()
        with client_at(demanding.grpc, Credentials(secret)) as client:
            assert create(client).name

    @pytest.mark.parametrize(("password", "is_let_in"), [("{}", True), ("wrong", False), ("", False)])
    def test_lets_in_as_the_password_of_the_proxy(
        self, demanding: Running, password: str, is_let_in: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        secret = password.format((demanding.state / "credential").read_text())
        monkeypatch.setenv("grpc_proxy", f"http://any:{secret}@127.0.0.1:{port_of(demanding)}")
        monkeypatch.setenv("no_grpc_proxy", "")
        with client_at("us-central1-aiplatform.googleapis.com") as client:
            if is_let_in:
                assert create(client).name
            else:
                with pytest.raises(exceptions.PermissionDenied):
                    create(client)


class TestCertificate:
    DAY = 86_400.0

    def test_is_kept_and_renewed_before_its_end(self, tmp_path: Path) -> None:
        first = certificate.load_or_create(tmp_path, server.names("127.0.0.1"), START)

        assert certificate.load_or_create(tmp_path, server.names("127.0.0.1"), START + 50 * self.DAY) == first
        later = certificate.load_or_create(tmp_path, server.names("127.0.0.1"), START + 61 * self.DAY)
        assert (later.pem, later.key) != (first.pem, first.key)
        assert certificate.load_or_create(tmp_path, server.names("127.0.0.5"), START + 61 * self.DAY) != later

    @pytest.mark.parametrize("name", [certificate.CERTIFICATE_FILE, certificate.KEY_FILE])
    @pytest.mark.parametrize("content", [None, b"", b"nonsense"])
    def test_is_made_again_where_half_is_missing(self, tmp_path: Path, name: str, content: bytes | None) -> None:
        first = certificate.load_or_create(tmp_path, ["localhost"], START)
        (tmp_path / name).unlink()
        if content is not None:
            (tmp_path / name).write_bytes(content)

        assert certificate.load_or_create(tmp_path, ["localhost"], START).pem != first.pem

    def test_of_another_key_is_made_again(self, tmp_path: Path) -> None:
        for folder in ("a", "b"):
            (tmp_path / folder).mkdir()
            certificate.load_or_create(tmp_path / folder, ["localhost"], START)
        (tmp_path / "a" / certificate.KEY_FILE).replace(tmp_path / "b" / certificate.KEY_FILE)
        before = (tmp_path / "b" / certificate.CERTIFICATE_FILE).read_bytes()

        assert certificate.load_or_create(tmp_path / "b", ["localhost"], START).pem != before

    def test_and_its_key_are_readable_by_the_owner_only(self, tmp_path: Path) -> None:
        certificate.load_or_create(tmp_path, ["localhost"], START)

        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
        assert modes == {certificate.CERTIFICATE_FILE: 0o600, certificate.KEY_FILE: 0o600}
