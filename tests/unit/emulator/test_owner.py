"""Tests that the emulator serves only the user who started it, with real connections of real users."""

import contextlib
import http.client
import json
import os
import re
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from emulator import socket_owners
from emulator.web.server import address_of, listen
from tests.support import users
from tests.support.running_emulator import Running, running
from tests.support.users import NOBODY, SOMEBODY, needs_root
from tests.unit.emulator.conftest import JOBS, job_body

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the system tells whose a connection is on Linux only")

JOB = json.dumps(job_body(["touch", "/tmp/ran"])).encode()
HOST = b"Host: 127.0.0.1\r\n"
REQUESTS = {
    "a job": b"POST %s HTTP/1.1\r\n%sContent-Length: %d\r\n\r\n%s" % (JOBS.encode(), HOST, len(JOB), JOB),
    "control plane": b"GET /_emulator/truth HTTP/1.1\r\n" + HOST + b"\r\n",
    "page": b"GET /_emulator/ HTTP/1.1\r\n" + HOST + b"\r\n",
    "a fault": b"POST /_emulator/faults HTTP/1.1\r\n" + HOST + b'Content-Length: 14\r\n\r\n{"kind":"503"}',
    "storage": b"GET /storage/v1/b HTTP/1.1\r\n" + HOST + b"\r\n",
    "log entries": b"POST /v2/entries:list HTTP/1.1\r\n" + HOST + b"Content-Length: 2\r\n\r\n{}",
    "token": b"POST /token HTTP/1.1\r\n" + HOST + b"Content-Length: 0\r\n\r\n",
    "one after another": (b"GET /_emulator/health HTTP/1.1\r\n" + HOST + b"\r\n") * 3,
    "websocket": b"GET / HTTP/1.1\r\n" + HOST + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    "nonsense": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "large": b"PUT /upload HTTP/1.1\r\n" + HOST + b"Content-Length: 5000000\r\n\r\n" + bytes(5_000_000),
}
OWN = b"GET /_emulator/truth HTTP/1.1\r\nConnection: close\r\n" + HOST + b"\r\n"


def port_of(emulator: Running) -> int:
    """Where it listens."""
    return int(emulator.url.rpartition(":")[2])


def refused(answer: bytes) -> str:
    """The message of the only answer, which must be a refusal in Google's form."""
    assert answer.count(b"HTTP/1.1 ") == 1, answer
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 403 "), answer
    error = json.loads(body)["error"]
    assert (error["code"], error["status"]) == (403, "PERMISSION_DENIED")
    return str(error["message"])


@pytest.fixture
def started_by() -> Iterator[Callable[[int], int]]:
    """`started_by(user)` is the port of a scripted emulator that this user runs."""
    made: list[tuple[Any, Path]] = []

    def start(user: int) -> int:
        folder = Path(tempfile.mkdtemp(prefix="tb-owner-", dir="/tmp"))
        os.chown(folder, user, user)
        options = ["--port", "0", "--state", str(folder / "state"), "--scripted"]
        process = users.start_emulator(*options, user=user)
        made.append((process, folder))
        assert process.stdout is not None
        found = re.fullmatch(r"emulator listening on http://127\.0\.0\.1:(\d+)\n", process.stdout.readline())
        assert found is not None
        return int(found[1])

    yield start
    for process, folder in made:
        process.kill()
        process.wait()
        process.stdout.close()
        shutil.rmtree(folder)


@needs_root
class TestAnotherUser:
    @pytest.mark.parametrize("name", REQUESTS)
    def test_is_refused_whatever_they_send(self, scripted: Running, name: str) -> None:
        before = scripted.truth()

        message = refused(users.send(REQUESTS[name], user=NOBODY, port=port_of(scripted)))

        assert f"serves only that user. This connection comes from the user id {NOBODY}." in message
        after = scripted.truth()
        assert (after["jobs"], after["faults"]) == ([], [])
        assert sum(after["calls"].values()) == sum(before["calls"].values()) + 1, "the question itself"

    def test_root_is_refused_by_the_emulator_of_somebody(self, started_by: Callable[[int], int]) -> None:
        port = started_by(NOBODY)

        assert "user id 0" in refused(users.send(OWN, user=0, port=port))
        assert f"user id {SOMEBODY}" in refused(users.send(OWN, user=SOMEBODY, port=port))
        assert users.send(OWN, user=NOBODY, port=port).startswith(b"HTTP/1.1 200 ")

    def test_reads_nothing_of_the_state(self, started_by: Callable[[int], int]) -> None:
        started_by(0)
        folders = [path for path in Path("/tmp").glob("tb-owner-*/state") if path.stat().st_uid == 0]

        assert folders
        assert [
            path for folder in folders for path in (folder, *folder.rglob("*")) if path.stat().st_mode & 0o077
        ] == []

    def test_who_sends_nothing_is_cut_off(self, scripted: Running) -> None:
        assert users.send(b"", user=NOBODY, port=port_of(scripted)) == b""

    def test_cannot_be_served_over_ipv6_either(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("tests.support.running_emulator.listen", lambda _, port: listen("::1", port))
        with running(tmp_path, scripted=True, is_waited_for=False) as emulator:
            port = port_of(emulator)

            assert "user id" in refused(users.send(OWN, user=NOBODY, port=port, host="::1"))
            assert users.send(OWN.replace(b"127.0.0.1", b"[::1]"), user=0, port=port, host="::1").startswith(
                b"HTTP/1.1 200 "
            )


class TestOurselves:
    def test_need_nothing(self, scripted: Running) -> None:
        assert users.send(OWN, user=os.geteuid(), port=port_of(scripted)).startswith(b"HTTP/1.1 200 ")
        assert not (scripted.state / "credential").exists()

    def test_are_looked_up_once_for_a_connection(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[socket_owners.Address] = []
        find = socket_owners.Diagnosis.__call__

        def counted(
            self: socket_owners.Diagnosis, client: socket_owners.Address, server: socket_owners.Address
        ) -> int | None:
            asked.append(client)
            return find(self, client, server)

        monkeypatch.setattr(socket_owners.Diagnosis, "__call__", counted)
        with running(tmp_path, scripted=True, is_waited_for=False) as emulator:
            asked.clear()  # what it asked to see whether the system tells
            connection = http.client.HTTPConnection("127.0.0.1", port_of(emulator), timeout=20)
            for _ in range(3):
                connection.request("GET", "/_emulator/health")
                assert connection.getresponse().read().startswith(b'{"status":"ok"')
            connection.close()
        assert len(asked) == 1


FAMILIES = {"IPv4": "127.0.0.1", "IPv6": "::1", "IPv4 as IPv6": "::ffff:127.0.0.1"}


@pytest.mark.parametrize("way", [socket_owners.Diagnosis, socket_owners.Tables])
@pytest.mark.parametrize("listens", FAMILIES.values(), ids=FAMILIES)
class TestLookup:
    @pytest.fixture
    def pair(self, listens: str) -> Iterator[tuple[socket.socket, socket.socket]]:
        """A client and the server's end of its connection; for IPv4 the client's socket is one of IPv6."""
        family = socket.AF_INET6 if ":" in listens else socket.AF_INET
        with socket.socket(family) as server:
            server.bind((listens, 0))
            server.listen()
            client = socket.socket(socket.AF_INET6)
            client.connect((listens if ":" in listens else f"::ffff:{listens}", server.getsockname()[1]))
            accepted, _ = server.accept()
            with client, accepted:
                yield client, accepted

    def test_names_the_owner_until_the_socket_is_closed(
        self, way: type[socket_owners.Lookup], pair: tuple[socket.socket, socket.socket]
    ) -> None:
        client, accepted = pair
        ends, find = (accepted.getpeername()[:2], accepted.getsockname()[:2]), way()
        assert find(*ends) == os.geteuid()
        client.shutdown(socket.SHUT_WR)
        assert find(*ends) == os.geteuid(), "it can still read"

        client.close()
        assert find(*ends) is None, "closed: the tables say user 0"
        accepted.close()
        assert find(*ends) is None, "TIME_WAIT: the tables say user 0"
        find.close()

    def test_takes_no_other_socket_for_it(
        self, way: type[socket_owners.Lookup], pair: tuple[socket.socket, socket.socket]
    ) -> None:
        _, accepted = pair
        (host, port), server, find = accepted.getpeername()[:2], accepted.getsockname()[:2], way()
        with socket.create_server(("127.0.0.1", 0)) as listening:
            assert find(("127.0.0.1", listening.getsockname()[1]), ("127.0.0.1", server[1])) is None
        assert find((host, port), (server[0], server[1] ^ 1)) is None
        assert find(("127.0.0.9", port), server) is None
        find.close()


def test_all_who_are_connected_to_a_port_are_known() -> None:
    with contextlib.ExitStack() as stack:
        # A server of another test may have had one of these ports until now, and its clients still have it open.
        servers = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(8)]
        unused = [each for each in servers if not socket_owners.users_connected_to(each.getsockname()[1])]
        assert unused
        stack.enter_context(socket.create_connection(unused[0].getsockname()))
        assert socket_owners.users_connected_to(unused[0].getsockname()[1]) == {os.geteuid()}


def test_a_way_that_does_not_work_here_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: socket_owners.Diagnosis) -> None:
        raise OSError("this kernel has no such family")

    monkeypatch.setattr(socket_owners.Diagnosis, "__init__", missing)
    assert isinstance(socket_owners.lookup(), socket_owners.Tables)

    monkeypatch.setattr(socket_owners, "TABLES", (Path("/proc/net/none"),))
    assert socket_owners.lookup() is None


def test_addresses_stay_readable() -> None:
    with listen("::1", 0) as bound:
        assert address_of(bound).startswith("http://[::1]:")
