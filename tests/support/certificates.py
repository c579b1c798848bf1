"""One certificate for all gRPC servers of a test process, because a process loads its trusted certificate only once."""

import os
import shutil
import tempfile
from functools import cache
from pathlib import Path

from emulator.grpc import certificate
from emulator.grpc.server import names
from emulator.lifecycle.clock import WallClock

VARIABLE = "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"


@cache
def shared() -> certificate.Certificate:
    """Return the certificate, and let Google's gRPC clients in this process accept it."""
    folder = Path(tempfile.mkdtemp(prefix="certificate-", dir=os.environ["TRAINBOARD_TEST_STATE"]))
    made = certificate.load_or_create(folder, names("127.0.0.1"), WallClock().now())
    os.environ[VARIABLE] = str(made.file)
    return made


def give(state: Path) -> None:
    """Copy the certificate into the state folder of an emulator that has not started yet."""
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in (certificate.CERTIFICATE_FILE, certificate.KEY_FILE):
        shutil.copy(shared().file.parent / name, state / name)
