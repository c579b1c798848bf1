"""Tests that tests cannot connect to other machines."""

import socket

import pytest

from tests.support import network


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", None, "127.8.8.8", b"localhost"])
def test_sockets_are_open_to_this_machine(host: object) -> None:
    assert network.is_loopback(host)


@pytest.mark.parametrize("host", ["10.0.0.1", "169.254.169.254", "example.com", "0.0.0.0", "2001:db8::1"])
def test_sockets_are_closed_to_every_other(host: str) -> None:
    with pytest.raises(network.SocketClosed):
        socket.create_connection((host, 80), timeout=1)
