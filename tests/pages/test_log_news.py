"""Tests of following a log: only new lines are sent, each after its predecessor, or all lines if needed."""

import re

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dashboard.pages import job_log
from dashboard.pages.parts import log_page
from jobs.models import Job, LogFeed, LogLine
from jobs.states import JobState
from jobs.timeline import ATTEMPT_BEGINS
from tests.pages.conftest import SignIn, text_of
from tests.support.written_log import SPOT, Log, at, poll, shown


class TestNewLines:
    def test_only_they_are_sent_behind_the_one_that_they_follow(self, log: Log, owner: User, signed_in: SignIn) -> None:
        first = log.write(1, "one")
        client = signed_in(owner)
        page = client.get(at(log.job))
        log.write(2, "two")
        log.write(3, "three")

        answer = poll(client, page)

        body = answer.content.decode()
        assert shown(answer) == ["two", "three"]
        assert body.count("hx-swap-oob") == 1
        assert f'hx-swap-oob="afterend:#l{first.pk}"' in body
        assert "HX-Retarget" not in answer
        assert poll(client, answer).status_code == 204

    def test_a_line_that_comes_late_takes_its_place(self, log: Log, owner: User, signed_in: SignIn) -> None:
        first, third = log.write(1, "one"), log.write(3, "three")
        client = signed_in(owner)
        page = client.get(at(log.job))
        log.write(2, "two")
        log.write(4, "four")

        answer = poll(client, page)

        runs = re.findall(r'afterend:#l(\d+)"(.*?)</div>', answer.content.decode(), re.S)
        assert [int(anchor) for anchor, _ in runs] == [first.pk, third.pk]
        assert "two" in runs[0][1]
        assert "four" in runs[1][1]

    def test_nothing_new_is_an_empty_answer(self, log: Log, owner: User, signed_in: SignIn) -> None:
        client = signed_in(owner)
        empty = client.get(at(log.job))
        assert poll(client, empty).status_code == 204

        log.write(1, "one")
        first = poll(client, empty)

        assert first["HX-Retarget"] == "#log"
        assert shown(first) == ["one"]
        assert poll(client, first).status_code == 204

    def test_lines_of_others_are_no_news_under_a_filter(self, log: Log, owner: User, signed_in: SignIn) -> None:
        log.write(1, "mine")
        log.write(1, "theirs", "workerpool1-0")
        client = signed_in(owner)
        page = client.get(at(log.job), {"replica": "workerpool0-0"})
        log.write(2, "theirs again", "workerpool1-0")

        assert poll(client, page).status_code == 204

        log.write(3, "mine again")
        assert shown(poll(client, page)) == ["mine again"]

    def test_a_new_attempt_is_drawn_with_all_lines(self, log: Log, owner: User, signed_in: SignIn) -> None:
        log.write(1, "one")
        log.write(70, "two")
        client = signed_in(owner)
        page = client.get(at(log.job))
        log.restart(60)

        answer = poll(client, page)

        assert answer["HX-Retarget"] == "#log"
        assert shown(answer) == ["Attempt 1", "one", f"Attempt 2 — {SPOT}", "two"]

    def test_a_late_line_that_begins_an_attempt_takes_the_heading_over(
        self, restarted: Log, owner: User, signed_in: SignIn
    ) -> None:
        client = signed_in(owner)
        page = client.get(at(restarted.job), {"attempt": "2"})
        restarted.write(61.5, "last words")
        assert poll(client, page).status_code == 204, "before the attempt begins"
        LogLine.objects.filter(message=ATTEMPT_BEGINS, timestamp=restarted.at(62)).delete()
        page = client.get(at(restarted.job))
        restarted.write(62, ATTEMPT_BEGINS, "service")

        answer = poll(client, page)

        headings = [each for each in shown(answer) if each.startswith("Attempt 2")]
        assert answer["HX-Retarget"] == "#log"
        assert len(headings) == 1

    def test_what_is_shown_grows_to_a_limit(
        self, log: Log, owner: User, signed_in: SignIn, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(log_page, "TAIL_LINES", 3)
        monkeypatch.setattr(job_log, "MAX_LINES", 6)
        for number in range(5):
            log.write(number, f"line {number}")
        client = signed_in(owner)
        page = client.get(at(log.job))
        assert shown(page) == ["line 2", "line 3", "line 4"]
        assert "Not all lines are shown, at most 3" in text_of(page)

        for number in range(5, 8):
            log.write(number, f"line {number}")
        grown = poll(client, page)
        assert shown(grown) == ["line 5", "line 6", "line 7"]

        log.write(8, "line 8")
        again = poll(client, grown)
        assert again["HX-Retarget"] == "#log"
        assert shown(again) == ["line 6", "line 7", "line 8"]

    def test_what_was_shown_and_is_forgotten_is_drawn_anew(self, log: Log, owner: User, signed_in: SignIn) -> None:
        log.write(1, "one")
        client = signed_in(owner)
        page = client.get(at(log.job))
        LogLine.objects.all().delete()
        log.write(2, "two")

        assert shown(poll(client, page)) == ["two"]

    @pytest.mark.parametrize("change", ["ended", "silent", "writer"])
    def test_what_surrounds_the_lines_is_drawn_anew_when_it_changes(
        self, log: Log, owner: User, signed_in: SignIn, change: str
    ) -> None:
        log.write(1, "one")
        client = signed_in(owner)
        page = client.get(at(log.job))
        if change == "ended":
            log.move(5, JobState.SUCCEEDED)
            Job.objects.filter(pk=log.job.pk).update(log_complete=True)
        elif change == "silent":
            LogFeed.objects.update(failing_since=log.clock.now, last_error="timed out")
        else:
            log.write(2, "two", "workerpool1-0")

        answer = poll(client, page)

        assert answer["HX-Retarget"] == "#log"
        assert ("log-poll" in answer.content.decode()) == (change != "ended")

    @pytest.mark.parametrize("query", ["", "first=x&after=y", "first=99999999&after=-1&shape=0", "first=" + "9" * 40])
    def test_a_made_up_question_gets_the_whole_part(self, log: Log, owner: User, signed_in: SignIn, query: str) -> None:
        log.write(1, "one")

        assert shown(signed_in(owner).get(at(log.job, f"log/new/?{query}"))) == ["one"]

    def test_a_paused_log_does_not_follow(self, log: Log, owner: User, signed_in: SignIn) -> None:
        log.write(1, "one")

        page = signed_in(owner).get(at(log.job, "?follow=no")).content.decode()

        assert 'id="log-poll"' not in page
        assert '<input type="hidden" name="follow" value="no">' in page

    def test_takes_as_many_queries_for_two_lines_as_for_two_hundred(
        self, restarted: Log, owner: User, signed_in: SignIn
    ) -> None:
        client = signed_in(owner)
        counts = []
        for many in (2, 200):
            page = client.get(at(restarted.job))
            for number in range(many):
                restarted.write(400 + many + number / 1000, "more")
            row = []
            for ask in (lambda page=page: poll(client, page), lambda: client.get(at(restarted.job))):
                with CaptureQueriesContext(connection) as queries:
                    ask()
                row.append(len(queries))
            counts.append(row)

        assert counts[0] == counts[1]
        assert max(counts[0]) <= 13
