"""Tests of the keeper with real child processes."""

import io
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from dashboard.management.supervisor import keeper as keeper_module
from dashboard.management.supervisor.child import Part
from dashboard.management.supervisor.console import Console
from dashboard.management.supervisor.keeper import Keeper, delay_seconds
from tests.support import waiting

ROOT = Path(__file__).parents[3]
FOREVER = "import signal; print('up', flush=True); signal.pause()"


def python(name: str, code: str, **more: object) -> Part:
    """A part that runs a few lines of Python."""
    return Part(name, (sys.executable, "-S", "-c", textwrap.dedent(code)), dict(os.environ), ROOT, **more)  # type: ignore[arg-type]


@pytest.fixture
def screen() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def run(screen: io.StringIO) -> Iterator[Callable[..., Keeper]]:
    """`run(layers, watcher)` runs a keeper until the watcher stops it, at most 20 s, and returns it."""
    started: list[psutil.Process] = []

    def run(layers: list[list[Part]], watcher: Callable[[Keeper], None]) -> Keeper:
        keeper = Keeper(Console([part.name for layer in layers for part in layer], screen), layers)
        keeper.turn_seconds = 0.05
        deadline = time.monotonic() + 20

        def watch(keeper: Keeper) -> None:
            started.extend(psutil.Process(child.pid) for child in keeper.children.values())
            watcher(keeper)
            if time.monotonic() > deadline:
                keeper.stop("the test took too long")

        keeper.watchers.append(watch)
        keeper.run()
        return keeper

    yield run
    waiting.until_gone(set(started), seconds=2)


def said(screen: io.StringIO) -> list[str]:
    return screen.getvalue().splitlines()


class TestARunningPart:
    def test_is_heard_line_by_line_under_its_name(self, run: Callable[..., Keeper], screen: io.StringIO) -> None:
        talk = "import sys; print('one', flush=True); print(); sys.stderr.write('two')"

        run([[python("worker", talk)]], lambda keeper: keeper.stop("done") if keeper.deaths else None)

        assert said(screen)[:2] == ["worker | one", "worker | two"]

    def test_that_is_killed_comes_back_at_once(self, run: Callable[..., Keeper], screen: io.StringIO) -> None:
        pids: list[int] = []

        def kill_the_first(keeper: Keeper) -> None:
            for child in keeper.children.values():
                if child.pid not in pids:
                    pids.append(child.pid)
                    if len(pids) == 1:
                        os.kill(child.pid, signal.SIGKILL)
            if len(pids) == 2:
                keeper.stop("it is back")

        run([[python("web", FOREVER)]], kill_the_first)

        assert len(pids) == 2
        assert "up  | web stopped unexpectedly (killed by SIGKILL); restarting it now" in said(screen)

    def test_that_keeps_dying_waits_longer_each_time(self, run: Callable[..., Keeper], screen: io.StringIO) -> None:
        run(
            [[python("beat", "raise SystemExit(3)")]],
            lambda keeper: keeper.stop("seen") if keeper.deaths.get("beat", 0) >= 3 else None,
        )

        assert said(screen) == [
            "up   | beat stopped unexpectedly (exit 3); restarting it now",
            "up   | beat stopped unexpectedly (exit 3); restarting in 1 s (failure 2 in a row)",
            "up   | beat stopped unexpectedly (exit 3); restarting in 2 s (failure 3 in a row)",
            "up   | stopping: seen",
        ]

    def test_takes_with_it_what_it_started(self, run: Callable[..., Keeper], screen: io.StringIO) -> None:
        code = """
            import subprocess, sys
            child = subprocess.Popen([sys.executable, "-S", "-c", "import signal; signal.pause()"])
            print("grandchild", child.pid, flush=True)
        """
        run([[python("web", code)]], lambda keeper: keeper.stop("dead") if keeper.deaths else None)

        pids = [int(pid) for pid in re.findall(r"grandchild (\d+)", screen.getvalue())]
        assert pids
        waiting.until_gone([psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)], seconds=2)


@pytest.mark.parametrize(("deaths", "seconds"), [(1, 0), (2, 1), (3, 2), (4, 4), (7, 30), (50, 30)])
def test_the_delay_grows_to_half_a_minute(deaths: int, seconds: float) -> None:
    assert delay_seconds(deaths) == seconds


class TestStopping:
    def test_on_sigterm_ends_every_part(self, run: Callable[..., Keeper], screen: io.StringIO) -> None:
        def ask(keeper: Keeper) -> None:
            if screen.getvalue().count("| up") == 2:
                os.kill(os.getpid(), signal.SIGTERM)

        keeper = run([[python("redis", FOREVER)], [python("web", FOREVER)]], ask)

        assert keeper.reason == "SIGTERM"
        assert keeper.children == {}
        assert not any("stopped unexpectedly" in line for line in said(screen))

    def test_kills_a_part_that_does_not_listen(
        self, run: Callable[..., Keeper], screen: io.StringIO, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(keeper_module, "STOP_SECONDS", 0.3)
        deaf = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); signal.pause()"

        keeper = run(
            [[python("web", deaf)]], lambda keeper: keeper.stop("now") if "deaf" in screen.getvalue() else None
        )

        assert keeper.children == {}

    def test_ends_the_last_layer_first(self, run: Callable[..., Keeper], screen: io.StringIO) -> None:
        polite = """
            import os, signal, sys
            def leave(*_): os.write(1, b"leaving\\n"); sys.exit(0)
            signal.signal(signal.SIGTERM, leave); os.write(1, b"ready\\n"); signal.pause()
        """
        layers = [[python("redis", polite)], [python("web", polite)]]

        run(layers, lambda keeper: keeper.stop("now") if screen.getvalue().count("ready") == 2 else None)

        assert said(screen)[-2:] == ["web   | leaving", "redis | leaving"]

    def test_happens_when_nobody_reads_the_log(self, run: Callable[..., Keeper], screen: io.StringIO) -> None:
        def hang_up(*_: object) -> int:
            raise BrokenPipeError

        def close(keeper: Keeper) -> None:
            screen.write = hang_up  # type: ignore[method-assign]

        keeper = run([[python("web", "while True: print('talk', flush=True)")]], close)

        assert keeper.reason == "nobody reads the log"


def test_a_layer_starts_when_the_one_before_it_is_ready(run: Callable[..., Keeper], tmp_path: Path) -> None:
    flag = tmp_path / "ready"
    slow = f"import pathlib, signal, time; time.sleep(0.3); pathlib.Path({str(flag)!r}).touch(); signal.pause()"
    seen: list[bool] = []
    late = python("web", f"import pathlib, sys; sys.exit(0 if pathlib.Path({str(flag)!r}).exists() else 9)")

    keeper = run(
        [[python("redis", slow, is_ready=flag.exists)], [late]],
        lambda keeper: keeper.stop("tried") if keeper.deaths.get("web") else seen.append(flag.exists()),
    )

    assert all(seen)
    assert keeper.reason == "tried"


@pytest.mark.parametrize("by", ["kill -9 of itself", "kill -9 of the make that runs it", "the end of its reader"])
def test_a_keeper_leaves_no_process_behind(by: str) -> None:
    program = ROOT / "tests/support/kept.py"
    shell = f'"{sys.executable}" "{program}" $$; exit 1'
    command = ["sh", "-c", shell] if "make" in by else [sys.executable, str(program)]
    top = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert top.stdout is not None
        assert top.stdout.readline() == "web | ready\n"
        family = psutil.Process(top.pid).children(recursive=True)
        assert len(family) == (3 if "make" in by else 2)

        if "reader" in by:
            top.stdout.close()
            os.kill(family[0].pid, signal.SIGKILL)  # the next line that is said finds nobody
        else:
            top.kill()

        waiting.until_gone(family, seconds=5)
    finally:
        top.kill()
        top.wait()
        top.stdout.close()
