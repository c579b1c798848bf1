"""Tests of the template tags for figures, marks and the timeline."""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.template import Context, Template

from dashboard.drawing import figures, marks, timeline, timeline_key
from dashboard.drawing.scale import PIECES, Scale, axis, ticks
from jobs.models import Job
from jobs.states import JobState
from jobs.timeline import JobTimeline, Lane, Mark, Span

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


def minutes(count: float) -> timedelta:
    return timedelta(minutes=count)


class TestAxis:
    def test_midnight_has_the_day(self) -> None:
        drawn = axis(Scale(NOON - minutes(60), NOON + timedelta(hours=47)))

        texts = re.findall(r">([^<]+)</text>", drawn)
        assert texts == ["12:00", "3 Mar", "12:00", "4 Mar"]

    def test_seconds_stand_where_ticks_are_closer_than_a_minute(self) -> None:
        drawn = axis(Scale(NOON, NOON + minutes(0.5)))

        texts = re.findall(r">([^<]+)</text>", drawn)
        assert texts[:2] == ["12:00:00", "12:00:10"]
        assert len(set(texts)) == len(texts)

    def test_an_hour_at_the_edge_keeps_away_from_now(self) -> None:
        scale = Scale(NOON + minutes(0.3), NOON + minutes(15.3), now=NOON + minutes(11.6))

        texts = re.findall(r">([^<]+)</text>", axis(scale, 16))

        assert texts == ["12:05", "now"]  # 12:10 is too close as well; 12:15 ends where it stands


class TestFigures:
    @pytest.mark.parametrize(
        ("seconds", "text"),
        [
            (0, "0 s"),
            (-5, "0 s"),
            (59.4, "59 s"),
            (59.6, "1 min"),
            (200, "3 min 20 s"),
            (599, "9 min 59 s"),
            (600, "10 min"),
            (601, "10 min"),
            (3_600, "1 h"),
            (7_500, "2 h 5 min"),
            (172_799, "47 h 59 min"),
            (172_800, "2 d"),
            (277_200, "3 d 5 h"),
        ],
    )
    def test_durations_have_at_most_two_units(self, seconds: float, text: str) -> None:
        assert figures.duration(seconds) == text
        assert figures.duration(timedelta(seconds=seconds)) == text

    def test_an_unknown_duration_is_a_dash(self) -> None:
        assert figures.duration(None) == "–"

    @pytest.mark.parametrize(
        ("usd", "text"),
        [
            (None, "no price known"),
            ("", "no price known"),
            ("0", "$0.00"),
            ("0.0021", "$0.0021"),
            ("0.000012345", "$0.000012"),
            ("0.00996", "$0.01"),
            ("0.01", "$0.01"),
            ("14.205", "$14.21"),
            ("999.994", "$999.99"),
            ("999.996", "$1,000.00"),
            ("1204.4", "$1,204.40"),
            ("16649", "$16,649.00"),
            ("-3", "−$3.00"),
        ],
    )
    def test_money_is_readable_at_every_size(self, usd: str | None, text: str) -> None:
        assert figures.money(Decimal(usd) if usd else usd) == text

    @pytest.mark.parametrize(
        ("usd", "text"),
        [
            ("39.6336", "$39.63"),
            ("1.999", "$2.00"),
            ("0.13402284", "$0.134"),
            ("0.080424", "$0.08042"),
            ("0.1", "$0.10"),
            ("0.00005479452", "$0.00005479"),
            ("0", "$0.00"),
        ],
    )
    def test_an_hourly_price_is_short_and_exact_enough(self, usd: str, text: str) -> None:
        assert figures.hourly_price(usd) == text

    @pytest.mark.parametrize(
        ("usd", "text"),
        [("12.5", "$12.50"), ("11.2660332", "$11.2660332"), ("0", "$0.00"), ("0.000000123", "$0.000000123"),
         ("1234.5", "$1,234.50")],
    )  # fmt: skip
    def test_an_exact_price_has_all_its_digits(self, usd: str, text: str) -> None:
        assert figures.exact_price(Decimal(usd)) == text

    @pytest.mark.parametrize(
        ("amount", "currency", "text"),
        [
            (Decimal("1234.5"), "USD", "$1,234.50"),
            (Decimal(-2), "USD", "−$2.00"),
            (Decimal("1234.5"), "EUR", "1,234.50 EUR"),
            (None, "EUR", "0.00 EUR"),
        ],
    )
    def test_a_billed_amount_is_in_its_currency(self, amount: Decimal | None, currency: str, text: str) -> None:
        assert figures.billed(amount, currency) == text

    def test_a_range_of_money_says_nothing_where_its_ends_read_the_same(self) -> None:
        assert figures.between("67.33", "67.82") == "$67.33 – $67.82"
        assert figures.between("9699.281", "9699.284") == figures.between(None, "1") == figures.between("", None) == ""

    def test_days_are_written_one_way(self) -> None:
        assert figures.day_of("2025-08-06") == "6 Aug 2025"

    @pytest.mark.parametrize(
        ("age", "text"),
        [
            (4, "4 s ago"),
            (59, "59 s ago"),
            (60, "1 min ago"),
            (7_199, "1 h ago"),
            (172_800, "2 d ago"),
            (-30, "in 30 s"),
        ],
    )
    def test_ages_have_one_unit(self, age: int, text: str) -> None:
        assert figures.ago(NOON - timedelta(seconds=age), NOON) == text

    def test_moments_are_in_utc_wherever_they_come_from(self) -> None:
        text = Template("{{ at|moment }}").render(Context({"at": datetime.fromisoformat("2026-03-02T14:00:00+02:00")}))

        assert text == '<time datetime="2026-03-02T12:00:00Z">2 Mar 2026, 12:00:00 UTC</time>'

    @pytest.mark.parametrize("name", ["moment", "clock", "day"])
    def test_no_moment_is_a_dash(self, name: str) -> None:
        assert Template("{{ at|" + name + " }}").render(Context({"at": None})) == "–"


class TestMarks:
    @pytest.mark.parametrize("state", list(JobState))
    def test_every_state_has_a_look_a_shape_and_a_word(self, state: JobState) -> None:
        mark = marks.state_mark(state)

        assert marks.look_of(state) != "odd"
        assert "<svg" in mark
        assert re.search(r"</svg>[\w ]+</span>$", mark)

    def test_our_words_are_lower_case_and_vertex_ais_are_capitals(self) -> None:
        assert marks.state_word("submit_failed") == "submit failed"
        assert marks.state_word("partially_succeeded") == "PARTIALLY_SUCCEEDED"

    def test_an_unknown_state_is_shown_raw_and_harmless(self) -> None:
        assert "unknown (JOB_STATE_&lt;b&gt;)" in marks.state_mark("JOB_STATE_<b>")

    def test_pips_say_how_many_are_used(self) -> None:
        row = marks.restart_bars(2, 6)

        assert row.count('class="full"') == 2
        assert row.count('class="free"') == 4
        assert "2 of 6 restarts used" in row

    def test_more_used_than_allowed_fills_every_pip(self) -> None:
        assert marks.restart_bars(9, 6).count('class="full"') == 6

    @pytest.mark.parametrize(("share", "width"), [(-1, "0.0%"), (0.25, "25.0%"), (7, "100.0%")])
    def test_a_meter_stays_within_its_bounds(self, share: float, width: str) -> None:
        assert f'width="{width}"' in marks.meter(share, "waited")


def story(*lanes: Lane, length: timedelta) -> JobTimeline:
    return JobTimeline(events=(), lanes=lanes, phases=(), attempts=1, start=NOON, end=NOON + length)


class TestTimeline:
    def test_spans_lie_where_their_time_is(self) -> None:
        lane = Lane("Vertex AI", (Span("queued", NOON, NOON + minutes(15)), Span("running", NOON + minutes(15), None)))

        drawing = timeline.draw(story(lane, length=minutes(60)))

        assert re.search(r'class="span wait" x="0.00%" y="4" width="25.00%"', drawing)
        assert re.search(r'class="span run" x="25.00%" y="4" width="75.00%"', drawing)
        assert 'aria-label="Vertex AI: QUEUED 15 min, RUNNING 45 min"' in drawing

    def test_a_label_is_drawn_only_where_it_fits(self) -> None:
        lane = Lane("Vertex AI", (Span("pending", NOON, NOON + minutes(1)), Span("running", NOON + minutes(1), None)))

        drawing = timeline.draw(story(lane, length=minutes(60)))

        assert ">RUNNING 59 min</text>" in drawing
        assert ">PENDING" not in drawing.replace("<title>PENDING", "")

    def test_a_label_ends_where_hatching_begins(self) -> None:
        lane = Lane(
            "Vertex AI", (Span("running", NOON, None), Span("", NOON + minutes(1), NOON + minutes(59), seen=False))
        )

        drawing = timeline.draw(story(lane, length=minutes(60)))

        assert ">RUNNING" not in drawing.replace("<title>RUNNING", "")
        assert ">not observed 58 min</text>" in drawing

    def test_a_very_short_span_is_still_visible_and_inside(self) -> None:
        end = NOON + timedelta(days=30)
        lane = Lane("Vertex AI", (Span("running", end - timedelta(seconds=1), end),))

        drawing = timeline.draw(story(lane, length=timedelta(days=30)))

        assert 'x="99.60%" y="4" width="0.40%"' in drawing

    def test_replicas_are_told_by_attempt_and_preemption(self) -> None:
        lane = Lane(
            "workerpool0-0",
            (Span("running", NOON, NOON + minutes(30), attempt=2),),
            (Mark(NOON + minutes(30), "preempted", "Preempted."),),
        )

        drawing = timeline.draw(story(lane, length=minutes(60)))

        assert 'aria-label="workerpool0-0: attempt 2 · 30 min, Preempted at 12:30:00"' in drawing
        assert 'class="mark bolt" x="50.00%"' in drawing

    def test_marks_that_lie_close_share_a_sign(self) -> None:
        moments = [NOON + timedelta(minutes=at) for at in (10, 11, 12, 40)]
        marks_ = tuple(Mark(at, "failed", f"Failed at minute {at.minute}.") for at in moments)

        drawing = timeline.draw(story(Lane("workerpool0-0", (), marks_), length=minutes(60)))

        assert re.findall(r'class="mark again" x="([\d.]+)%"', drawing) == ["16.67", "66.67"]
        assert "Failed at minute 10. 12:10:00 UTC\nFailed at minute 11." in drawing
        assert drawing.count("Failed at minute") == 8, "each is told in a tooltip and to those who only hear"

    @pytest.mark.parametrize(
        ("reasons", "sign"),
        [
            (("preempted", "preempted"), "bolt"),
            (("preempted", "maintenance"), "again"),
            (("preempted", "exit"), "bad"),
            (("stockout",), "again"),
            (("internal",), "again"),
            (("a new cause",), "again"),
        ],
    )
    def test_a_bolt_means_preemption_only(self, reasons: tuple[str, ...], sign: str) -> None:
        near = tuple(Mark(NOON + timedelta(seconds=place), reason, "It.") for place, reason in enumerate(reasons))

        drawing = timeline.draw(story(Lane("workerpool0-0", (), near), length=minutes(60)))

        assert f'class="mark {sign}"' in drawing
        assert (marks.SHAPES["bolt"] in drawing) == (sign == "bolt")

    def test_a_paused_stretch_is_not_one_that_stops(self) -> None:
        spans = (Span("paused", NOON, NOON + minutes(30)), Span("cancelling", NOON + minutes(30), None))
        told = story(Lane("Vertex AI", spans), length=minutes(60))

        drawing = timeline.draw(told)
        keys = timeline_key.keys_of(told, Scale(told.start, told.end), None)

        assert re.findall(r'class="span (\w+)"', drawing) == ["pause", "halt"]
        assert [(key.look, str(key.label)) for key in keys] == [("halt", "stopping"), ("pause", "paused")]

    def test_a_replica_of_which_nothing_is_known_looks_so(self) -> None:
        lane = Lane("workerpool0-0", (Span("running", NOON, None, attempt=1),), is_assumed=True)

        drawing = timeline.draw(story(lane, length=minutes(60)))

        assert 'class="span assumed"' in drawing
        assert timeline.has_assumed(story(lane, length=minutes(60)))

    def test_a_label_ends_where_a_mark_stands(self) -> None:
        span = Span("running", NOON, None, attempt=1)
        free = timeline.draw(story(Lane("workerpool0-0", (span,)), length=minutes(60)))
        lane = Lane("workerpool0-0", (span,), (Mark(NOON + minutes(1), "failed", "Failed."),))

        drawing = timeline.draw(story(lane, length=minutes(60)))

        assert ">attempt 1 · 1 h</text>" in free
        assert "</text>" not in drawing.partition('class="lane axis"')[0]

    def test_a_narrow_axis_shows_every_second_hour(self) -> None:
        axis = timeline.draw(story(length=minutes(60))).partition('class="lane axis"')[2]

        names = re.findall(r'<text class="([^"]*)"', axis)
        assert [name == "w500" for name in names] == [False, True, False, True, False]

    @pytest.mark.parametrize("seconds", [0, 1, 59, 600, 86_400, 7 * 86_400, 400 * 86_400])
    def test_hours_below_are_round_and_few(self, seconds: int) -> None:
        scale = Scale(NOON + timedelta(seconds=17), NOON + timedelta(seconds=17 + seconds))

        found = list(ticks(scale))

        assert len(found) <= PIECES + 1 or seconds > 6 * 30 * 86_400
        assert all(0 <= scale.at(tick) <= 100 for tick in found)

    def test_nothing_in_it_needs_an_inline_style(self) -> None:
        lane = Lane("Vertex AI", (Span("running", NOON, None),))

        assert "style" not in timeline.draw(story(lane, length=minutes(5)))


@pytest.mark.parametrize(
    ("usd", "jobs", "words"),
    [("0", 0, "$0.00"), ("0", 1, "< $0.01"), ("0", 2, "< $0.01"), ("0.0099", 10, "< $0.01"), ("3.5", 10, "$3.50")],
)
def test_what_cents_round_away_is_no_nothing(usd: str, jobs: int, words: str) -> None:
    assert figures.spent(Decimal(usd), jobs) == words


@pytest.mark.parametrize(
    ("usd", "hourly", "words"),
    [("0", "0.31", "< $0.01"), ("0", "0", "$0.00"), ("4.40", "4.25", "$4.40"), (None, None, "no price known")],
)
def test_an_estimate_below_a_cent_is_not_zero(usd: str | None, hourly: str | None, words: str) -> None:
    amounts = [None if each is None else Decimal(each) for each in (usd, hourly)]

    assert figures.estimated(Job(estimate_usd=amounts[0], hourly_usd=amounts[1])) == words
