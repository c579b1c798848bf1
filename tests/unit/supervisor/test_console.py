"""Tests of the combined log of `manage.py up`."""

import io

from dashboard.management.supervisor.console import MAX_LINE_LENGTH, Console


class Terminal(io.StringIO):
    """A stream whose `isatty` returns True."""

    def isatty(self) -> bool:
        return True


def test_aligns_the_names_of_all_parts() -> None:
    stream = io.StringIO()
    console = Console(["web", "emulator"], stream)

    console.log("hello")
    console.log_output("web", b"a\nb\n")

    assert stream.getvalue() == "up       | hello\nweb      | a\nweb      | b\n"


def test_waits_for_the_end_of_a_line() -> None:
    stream = io.StringIO()
    console = Console(["web", "beat"], stream)

    console.log_output("web", b"caf\xc3")
    console.log_output("beat", b"tick\n")
    console.log_output("web", b"\xa9\nrest")
    console.finish("web")

    assert stream.getvalue() == "beat | tick\nweb  | café\nweb  | rest\n"


def test_does_not_wait_for_the_end_of_an_endless_line() -> None:
    stream = io.StringIO()
    console = Console(["web"], stream)

    console.log_output("web", b"x" * (MAX_LINE_LENGTH + 1))

    assert len(stream.getvalue()) > MAX_LINE_LENGTH


def test_shows_bytes_that_are_no_text() -> None:
    stream = io.StringIO()

    Console(["web"], stream).log_output("web", b"\xff\xfe\n")

    assert stream.getvalue() == "web | \ufffd\ufffd\n"


def test_is_coloured_on_a_terminal_only() -> None:
    terminal, file = Terminal(), io.StringIO()

    Console(["web"], terminal).log("hello")
    Console(["web"], file).log("hello")

    assert terminal.getvalue() == "\033[36mup  |\033[0m hello\n"
    assert file.getvalue() == "up  | hello\n"


def test_leaves_out_what_is_hushed() -> None:
    stream = io.StringIO()

    Console(["redis"], stream).log_output("redis", b"WARNING overcommit\nready\n", hushed=("overcommit",))

    assert stream.getvalue() == "redis | ready\n"
