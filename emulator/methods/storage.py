"""The part of Cloud Storage's JSON API that is needed to upload a script and read results.

Buckets: insert, list, get. Objects: list (prefix, delimiter, pages), get and download, delete, and the three kinds of
upload: media, multipart, resumable.
"""

import asyncio
import email.message
import json
import re
import secrets
import urllib.parse
from typing import Any

from emulator.emulator import Emulator
from emulator.protocol import paging
from emulator.protocol.calls import Call, Reply
from emulator.protocol.documents import Document
from emulator.protocol.errors import ApiError, invalid, not_found
from emulator.protocol.names import project_number

MAX_PAGE_SIZE = 1_000
RANGE = re.compile(r"bytes (?:(\d+)-(\d+)|\*)/(\d+|\*)")


def _bucket(name: str) -> Document:
    return {
        "kind": "storage#bucket",
        "id": name,
        "name": name,
        "projectNumber": project_number("emulator"),
        "location": "US-CENTRAL1",
        "locationType": "region",
        "storageClass": "STANDARD",
        "metageneration": "1",
    }


def insert_bucket(emulator: Emulator, call: Call) -> Document:
    """Create a bucket's folder."""
    name = str(call.json().get("name", ""))
    emulator.buckets.bucket(name).mkdir(parents=True, exist_ok=True)
    return _bucket(name)


def list_buckets(emulator: Emulator, call: Call) -> Document:
    """Return the buckets that have a folder."""
    prefix = call.query.get("prefix", "")
    items = [_bucket(name) for name in emulator.buckets.names() if name.startswith(prefix)]
    return {"kind": "storage#buckets", "items": items}


def get_bucket(emulator: Emulator, call: Call) -> Document:
    """Return a bucket. Every valid name is a bucket."""
    emulator.buckets.bucket(call.params["bucket"])
    return _bucket(call.params["bucket"])


def list_objects(emulator: Emulator, call: Call) -> Document:
    """Return a page of objects, and with a delimiter the prefixes up to it."""
    bucket, prefix = call.params["bucket"], call.query.get("prefix", "")
    delimiter = call.query.get("delimiter", "")
    position = paging.read_token(call.query.get("pageToken", ""), "objects", bucket, prefix, delimiter)
    size = paging.page_size(call.query.get("maxResults", ""), default=MAX_PAGE_SIZE, maximum=MAX_PAGE_SIZE)
    items: list[Document] = []
    prefixes: list[str] = []
    last = str(position[0]) if position else ""
    answer: Document = {"kind": "storage#objects"}
    for name in emulator.buckets.object_names(bucket, prefix):
        head, separator, _ = name[len(prefix) :].partition(delimiter) if delimiter else (name, "", "")
        shown = prefix + head + delimiter if separator else name
        if shown <= last or (prefixes and prefixes[-1] == shown):
            continue
        if len(items) + len(prefixes) == size:
            answer["nextPageToken"] = paging.make_token([last], "objects", bucket, prefix, delimiter)
            break
        last = shown
        if separator:
            prefixes.append(shown)
        else:
            items.append(emulator.buckets.metadata(bucket, name))
    return answer | ({"items": items} if items else {}) | ({"prefixes": prefixes} if prefixes else {})


def get_object(emulator: Emulator, call: Call) -> Any:
    """Return an object's metadata, or with `alt=media` its content, or a range of it if requested."""
    bucket, name = call.params["bucket"], call.params["object"]
    if call.query.get("alt") != "media":
        return _linked(call, emulator.buckets.metadata(bucket, name))
    data = emulator.buckets.read(bucket, name)
    metadata = emulator.buckets.metadata(bucket, name)
    headers = {"X-Goog-Generation": metadata["generation"]}
    if "crc32c" in metadata:
        headers["X-Goog-Hash"] = f"crc32c={metadata['crc32c']},md5={metadata['md5Hash']}"
    wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", call.headers.get("range", ""))
    if wanted is None or not data:
        return Reply(data, 200, metadata["contentType"], headers)
    first, last = int(wanted[1]), min(int(wanted[2] or len(data) - 1), len(data) - 1)
    if first >= len(data):
        raise ApiError(416, "The requested range cannot be satisfied.")
    headers["Content-Range"] = f"bytes {first}-{last}/{len(data)}"
    return Reply(data[first : last + 1], 206, metadata["contentType"], headers)


def delete_object(emulator: Emulator, call: Call) -> Reply:
    """Delete an object."""
    emulator.buckets.delete(call.params["bucket"], call.params["object"])
    return Reply(b"", 204)


async def upload(emulator: Emulator, call: Call) -> Any:
    """Store an object: `uploadType` media, multipart or resumable, which answers with a URL for the content."""
    kind = call.query.get("uploadType", "media")
    bucket, name = call.params["bucket"], call.query.get("name", "")
    if kind == "resumable":
        described = call.json()
        session = secrets.token_hex(16)
        emulator.uploads[session] = (bucket, str(name or described.get("name", "")), bytearray())
        where = f"{call.address}/upload/storage/v1/b/{bucket}/o?uploadType=resumable&upload_id={session}"
        return Reply(b"", 200, headers={"Location": where})
    data = call.body
    if kind == "multipart":
        described, data = _parts(call)
        name = name or str(described.get("name", ""))
    elif kind != "media":
        raise invalid(f"Unknown uploadType: {kind}")
    return _linked(call, await asyncio.to_thread(emulator.buckets.write, bucket, name, data))


async def resume(emulator: Emulator, call: Call) -> Any:
    """Store a part of a resumable upload. Answer 308 with the range so far until it is complete."""
    session = call.query.get("upload_id", "")
    if session not in emulator.uploads:
        raise not_found("Unknown upload_id.")
    bucket, name, data = emulator.uploads[session]
    piece = RANGE.fullmatch(call.headers.get("content-range", "")) if call.headers.get("content-range") else None
    if piece is None:
        data[:] = call.body
        total = str(len(data))
    else:
        total = piece[3]
        if piece[1] is not None:
            start = int(piece[1])
            if start > len(data):
                raise ApiError(503, "A piece of the upload is missing.")
            data[start:] = call.body
    if total == "*" or len(data) < int(total):
        headers = {"Range": f"bytes=0-{len(data) - 1}"} if data else {}
        return Reply(b"", 308, headers=headers)
    del emulator.uploads[session]
    return _linked(call, await asyncio.to_thread(emulator.buckets.write, bucket, name, bytes(data)))


def _parts(call: Call) -> tuple[Document, bytes]:
    """Split a multipart/related body into its metadata and its content.

    gcloud's library sends the boundary in single quotes, which are not quotes in RFC 2045, and ends lines with LF only
    (apitools, `transfer.py`: `'multipart/related; boundary=%r'`). Cloud Storage accepts both.
    """
    kind = call.headers.get("content-type", "")
    message = email.message.Message()  # this older policy accepts a bare boundary with "=", as apitools sends
    message["Content-Type"] = kind
    boundary = message.get_boundary()
    if not boundary:
        raise invalid("A multipart upload needs a boundary.")
    pieces, line_end = _pieces(call.body, boundary)
    if len(pieces) != 4 and boundary[0] == boundary[-1] == "'":
        pieces, line_end = _pieces(call.body, boundary.strip("'"))
    if len(pieces) != 4:  # before, metadata, content, end
        raise invalid("A multipart upload needs two parts.")
    described, content = (piece.partition(line_end * 2)[2] for piece in pieces[1:3])
    try:
        metadata = json.loads(described)
    except ValueError:
        raise invalid("The first part of a multipart upload must be JSON.") from None
    return metadata, content


def _pieces(body: bytes, boundary: str) -> tuple[list[bytes], bytes]:
    """Split a body at its boundary. Also return its line ending, CRLF or LF."""
    mark = b"--" + boundary.encode()
    is_bare = re.search(re.escape(mark) + rb"[ \t]*\n", body[: 10 * len(mark)])
    line_end = b"\n" if is_bare else b"\r\n"
    return (line_end + body).split(line_end + mark), line_end


def _linked(call: Call, metadata: Document) -> Document:
    where = f"{call.address}/storage/v1/b/{metadata['bucket']}/o/{urllib.parse.quote(metadata['name'], safe='')}"
    media = where.replace("/storage/", "/download/storage/", 1) + "?alt=media"
    return metadata | {"selfLink": where, "mediaLink": media}
