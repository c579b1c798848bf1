"""Tests of multipart uploads in every form that clients send."""

import email.generator
import email.mime.multipart
import email.mime.nonmultipart
import io
import json
import urllib.error
import urllib.request

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.methods import storage
from emulator.protocol.calls import Call
from tests.support.running_emulator import Running

EDGE = "===============7330845974216740156=="


def body(content: bytes, line_end: bytes = b"\r\n", boundary: str = EDGE) -> bytes:
    """Metadata and content as a client writes them."""
    mark = b"--" + boundary.encode()
    described = [mark, b"Content-Type: application/json", b"", b'{"name": "in the body.bin"}']
    return line_end.join([*described, mark, b"Content-Type: a/b", b"", content, mark + b"--"])


def of_apitools(content: bytes) -> tuple[bytes, str]:
    """Body and content type as gcloud's library makes them: Python's own generator, its boundary with repr()."""
    root = email.mime.multipart.MIMEMultipart("related", EDGE)
    root._write_headers = lambda _: None  # type: ignore[attr-defined]  # as apitools does
    for kind, data in ((("application", "json"), b'{"name": "sent by gcloud"}'), (("text", "plain"), content)):
        part = email.mime.nonmultipart.MIMENonMultipart(*kind)
        part.set_payload(data.decode())
        root.attach(part)
    made = io.BytesIO()
    email.generator.BytesGenerator(made, mangle_from_=False).flatten(root, unixfrom=False)
    return made.getvalue(), f"multipart/related; boundary={root.get_boundary()!r}"


def upload(emulator: Running, sent: bytes, kind: str) -> str:
    """Send it; return the object's name."""
    address = emulator.url + "/upload/storage/v1/b/stage/o?uploadType=multipart"
    request = urllib.request.Request(address, data=sent, method="POST", headers={"Content-Type": kind})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return str(json.loads(answer.read())["name"])


@pytest.mark.parametrize("line_end", [b"\r\n", b"\n"], ids=["CRLF", "LF"])
@pytest.mark.parametrize("quote", ["", '"', "'"], ids=["bare", "double", "single"])
def test_any_quotes_and_line_ends(scripted: Running, quote: str, line_end: bytes) -> None:
    content = b"first\r\nsecond\n\n\r\n--almost\x00"
    boundary = EDGE if quote else "bare"
    name = upload(scripted, body(content, line_end, boundary), f"multipart/related; boundary={quote}{boundary}{quote}")

    assert name == "in the body.bin"
    assert (scripted.state / "buckets" / "stage" / name).read_bytes() == content


def test_what_gcloud_sends(scripted: Running) -> None:
    sent, kind = of_apitools(b"import this\n")
    assert kind == f"multipart/related; boundary='{EDGE}'"

    name = upload(scripted, sent, kind)

    assert name == "sent by gcloud"
    assert (scripted.state / "buckets" / "stage" / name).read_bytes() == b"import this\n"


def test_quotes_that_belong_to_the_boundary_stay(scripted: Running) -> None:
    sent = body(b"x", boundary=f"'{EDGE}'")

    assert upload(scripted, sent, f"multipart/related; boundary='{EDGE}'") == "in the body.bin"


def test_a_body_of_another_boundary_is_refused(scripted: Running) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        upload(scripted, body(b"x"), "multipart/related; boundary='other'")

    with refused.value as reply:
        assert reply.code == 400


@given(st.binary(max_size=60), st.sampled_from([b"\r\n", b"\n"]))
def test_content_comes_out_as_it_went_in(content: bytes, line_end: bytes) -> None:
    headers = {"content-type": f"multipart/related; boundary='{EDGE}'"}
    call = Call(method="storage.upload", params={}, query={}, headers=headers, body=body(content, line_end))

    assert storage._parts(call) == ({"name": "in the body.bin"}, content)
