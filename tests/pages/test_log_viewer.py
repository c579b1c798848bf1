"""Tests of the log on a page: search, level, links to lines, look, and text that contains markup."""

import pytest
from django.contrib.auth.models import User
from hypothesis import given
from hypothesis import strategies as st

from dashboard.drawing.terminal import MAX_CHARACTERS, MAX_MARKS, render_line
from tests.pages.conftest import SignIn
from tests.support.written_log import Log, at, poll, shown


class TestChoice:
    def test_words_and_level_are_chosen_and_stay_while_it_is_followed(
        self, log: Log, owner: User, stranger: User, signed_in: SignIn
    ) -> None:
        log.write(1, "Loss 1")
        log.write(2, "loss nan", severity="WARNING")
        log.write(3, "no such", severity="ERROR")
        client = signed_in(owner)
        page = client.get(at(log.job), {"find": "LOSS", "level": "WARNING"})
        log.write(4, "loss is inf", severity="ERROR")
        log.write(5, "loss 2")

        assert shown(page) == ["<mark>loss</mark> nan"]
        assert page["HX-Replace-Url"].endswith("find=LOSS&level=WARNING")
        assert shown(poll(client, page)) == ["<mark>loss</mark> is inf"]
        assert signed_in(stranger).get(at(log.job), {"find": "loss"}).status_code == 404

    def test_percent_signs_and_unknown_levels_choose_nothing_wrong(
        self, log: Log, owner: User, signed_in: SignIn
    ) -> None:
        log.write(1, "at 50 %")
        log.write(2, "at 50 parts")
        client = signed_in(owner)

        assert shown(client.get(at(log.job), {"find": "50 %"})) == ["at <mark>50 %</mark>"]
        assert len(shown(client.get(at(log.job), {"level": "LOUD"}))) == 2

    def test_a_link_to_a_line_shows_what_stands_around_it(self, log: Log, owner: User, signed_in: SignIn) -> None:
        lines = [log.write(number, f"line {number}") for number in range(600)]
        page = signed_in(owner).get(at(log.job, ""), {"line": lines[50].pk})

        assert "line 50" in shown(page)
        assert "line 599" not in shown(page)
        assert 'id="log-poll"' not in page.content.decode()

    @pytest.mark.parametrize("line", ["0", "x", "9" * 30, "-1"])
    def test_a_link_to_no_line_shows_the_newest(self, log: Log, owner: User, signed_in: SignIn, line: str) -> None:
        log.write(1, "newest")

        assert shown(signed_in(owner).get(at(log.job), {"line": line})) == ["newest"]

    def test_the_look_is_part_of_the_address(self, log: Log, owner: User, signed_in: SignIn) -> None:
        log.write(1, "one")

        page = signed_in(owner).get(at(log.job), {"wrap": "no", "height": "full"}).content.decode()

        assert 'class="log tail nowrap whole"' in page
        assert ">Wrap</a>" in page
        assert ">Less height</a>" in page


class TestSize:
    def test_the_longest_log_fits_into_150_kilobytes(self, log: Log, owner: User, signed_in: SignIn) -> None:
        for number in range(300):
            log.write(number, f"{number} " + "<&>" * 2_000)

        body = signed_in(owner).get(at(log.job, "")).content

        assert len(body) < 150_000
        assert b"299 " in body

    def test_a_line_of_a_megabyte_is_cut_and_downloaded_whole(self, log: Log, owner: User, signed_in: SignIn) -> None:
        log.write(1, "x" * 1_000_000)
        client = signed_in(owner)

        page, text = client.get(at(log.job)), client.get(at(log.job, "log.txt"))

        assert "998,000 more characters in the download" in page.content.decode()
        assert len(page.content) < 20_000
        assert len(text.content) > 1_000_000


class TestLines:
    @pytest.mark.parametrize(
        ("message", "html"),
        [
            ("\x1b[31mred\x1b[0m plain", '<span class="ansi-red">red</span> plain'),
            ("\x1b[1;32mok\x1b[m", '<span class="bold ansi-green">ok</span>'),
            ("\x1b[38;5;1mred\x1b[39m \x1b[38;2;1;2;3mrgb", '<span class="ansi-red">red</span> rgb'),
            ("10 %\r50 %\r100 %", "100 %"),
            ("50 %\r", "50 %"),
            ("one\r\ntwo", "one\ntwo"),
            ("abc\b\bX", "aX"),
            ("\x1b]0;title\x07text", "text"),
            ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
            ("\x1b[2J\x1b[H\x1b[10Aup", "up"),
            ("<b>\x1b[31m<script>", '&lt;b&gt;<span class="ansi-red">&lt;script&gt;</span>'),
            ('\x1b[31"onclick="m', "nclick=&quot;m"),
            ("\u202eevil\u202c \u05e9\u05dc\u05d5\u05dd", "evil \u05e9\u05dc\u05d5\u05dd"),
        ],
    )
    def test_a_terminals_text_stays_text(self, message: str, html: str) -> None:
        assert render_line(message) == html

    @given(st.text(alphabet=st.sampled_from("\x1b[]0123456789;mJ<>&\"'\r\n\b\x07\\P^ab\u202e"), max_size=300))
    def test_nothing_but_colours_becomes_markup(self, message: str) -> None:
        html = render_line(message)

        rest = html.replace("</span>", "")
        for name in ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"):
            for look in (f"ansi-{name}", f"bold ansi-{name}", f"ansi-{name} bold"):
                rest = rest.replace(f'<span class="{look}">', "")
        rest = rest.replace('<span class="bold">', "")
        assert "<" not in rest
        assert "\x1b" not in rest

    def test_words_that_were_searched_for_are_marked_and_stay_text(self) -> None:
        html = render_line("\x1b[31mLoss\x1b[0m <loss> 2", "loss")

        assert html == '<span class="ansi-red"><mark>Loss</mark></span> &lt;<mark>loss</mark>&gt; 2'
        assert render_line("a.b axb", ".") == "a<mark>.</mark>b axb"
        assert render_line("e" * 1_000, "e").count("<mark>") == MAX_MARKS

    def test_a_line_is_cut_where_it_is_too_long(self) -> None:
        assert render_line("y" * (MAX_CHARACTERS + 5)).count("y") == MAX_CHARACTERS
