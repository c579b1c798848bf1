"""Tests that messages are sent only to the internet, whatever form an internal address has."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.messages.allowed_addresses import NotReachable, check_url, is_public, target_of

INTERNAL = [
    "127.0.0.1", "127.255.255.254", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254",
    "169.254.0.1", "100.64.0.1", "100.127.255.255", "0.0.0.0", "0.1.2.3", "255.255.255.255", "224.0.0.1", "240.0.0.1",
    "192.0.2.1", "198.18.0.1", "192.0.0.8",
    "::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1", "2001:db8::1",
    "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:10.0.0.1", "::127.0.0.1", "::ffff:0:127.0.0.1",
    "2002:7f00:1::", "2002:a9fe:a9fe::1", "64:ff9b::127.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1",
    "2001:0:4136:e378:8000:63bf:f5ff:fffe", "5f00::1", "", "example.org", "127.1",
]  # fmt: skip
PUBLIC = ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1"]
RESERVED = [
    ipaddress.ip_network(each)
    for each in (
        "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "127.0.0.0/8", "169.254.0.0/16", "100.64.0.0/10",
        "0.0.0.0/8", "224.0.0.0/4", "240.0.0.0/4",
    )
]  # fmt: skip


@pytest.mark.parametrize("address", INTERNAL)
def test_an_internal_address_is_refused(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_allowed(address: str) -> None:
    assert is_public(address)


@given(st.sampled_from(RESERVED), st.integers(min_value=0), st.sampled_from(["{}", "::ffff:{}", "64:ff9b::{}"]))
def test_no_address_of_a_reserved_network_is_public(network: ipaddress.IPv4Network, number: int, form: str) -> None:
    address = network[number % network.num_addresses]

    assert not is_public(form.format(address))


@given(st.integers(min_value=0, max_value=2**32 - 1))
def test_an_address_that_carries_another_is_no_more_public_than_that(number: int) -> None:
    plain = ipaddress.IPv4Address(number)
    sixtofour = ipaddress.IPv6Address((0x2002 << 112) | (number << 80) | 1)

    for carrier in (f"::ffff:{plain}", f"64:ff9b::{plain}", str(sixtofour)):
        assert is_public(carrier) <= is_public(str(plain))


@given(st.one_of(st.ip_addresses(), st.text()).map(str))
def test_whatever_is_asked_there_is_an_answer(text: str) -> None:
    assert is_public(text) in (True, False)


@given(st.text())
def test_whatever_is_typed_is_an_address_or_is_refused_in_words(text: str) -> None:
    try:
        is_secure, name, port, path = check_url(text, allows_loopback=False)
    except NotReachable:
        return
    assert is_secure
    assert name
    assert 0 < port < 65536
    assert path.startswith("/")


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.slack.com/x", "ftp://a/b", "https://", "https:///x", "https://user@a.org/", "https://u:p@a.org/",
        "https://a.org:0/", "https://a.org:99999/", "https://a.org/\r\nX: y", "https://a.org/ b", "https://[::1",
        "//a.org/", "javascript:alert(1)", "file:///etc/passwd", "https://ä.org/", "https://a.org\\@b.org/", "",
        "https://a.org/" + "x" * 2_000,
    ],
)  # fmt: skip
def test_a_bad_url_is_refused(url: str) -> None:
    with pytest.raises(NotReachable):
        check_url(url, allows_loopback=False)


@pytest.mark.parametrize("internal", ["127.0.0.1", "169.254.169.254", "10.1.2.3", "::1", "fd00::1", "::ffff:10.0.0.1"])
def test_one_internal_address_among_several_is_enough_to_refuse(internal: str) -> None:
    for ips in ([internal], ["8.8.8.8", internal], [internal, "8.8.8.8"]):
        with pytest.raises(NotReachable, match="internal address") as refusal:
            target_of("https://a.org/x", allows_loopback=False, resolve=lambda *_, ips=ips: ips)
        assert internal not in str(refusal.value)


@pytest.mark.parametrize(
    "url", ["https://127.0.0.1/", "https://2130706433/", "https://0x7f.1/", "https://localhost/", "https://[::1]/"]
)
def test_other_ways_to_write_loopback_are_resolved_before_they_are_checked(url: str) -> None:
    def resolve(name: str, port: int) -> list[str]:
        return ["::1"] if ":" in name else ["127.0.0.1"]

    with pytest.raises(NotReachable, match="internal"):
        target_of(url, allows_loopback=False, resolve=resolve)


def test_the_connection_goes_to_the_checked_address_under_the_name() -> None:
    target = target_of("https://a.org:8443/x?y=1", allows_loopback=False, resolve=lambda *_: ["2606:4700::1"])

    assert target.url == "https://[2606:4700::1]:8443/x?y=1"
    assert (target.name, target.host) == ("a.org", "a.org:8443")


def test_loopback_is_reached_only_where_the_site_allows_it() -> None:
    def resolve(*_: object) -> list[str]:
        return ["127.0.0.1"]

    assert target_of("http://127.0.0.1:81/", allows_loopback=True, resolve=resolve).url == "http://127.0.0.1:81/"
    with pytest.raises(NotReachable, match="https"):
        target_of("http://a.org/", allows_loopback=True, resolve=lambda *_: ["8.8.8.8"])
    with pytest.raises(NotReachable, match="internal"):
        target_of("https://a.org/", allows_loopback=True, resolve=lambda *_: ["127.0.0.1", "10.0.0.1"])


def test_a_name_without_addresses_is_told() -> None:
    with pytest.raises(NotReachable, match="cannot be resolved"):
        target_of("https://a.org/", allows_loopback=False, resolve=lambda *_: [])
