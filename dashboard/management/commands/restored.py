"""`manage.py restored`: record that the database was restored or copied, before workers start again."""

import argparse
from itertools import chain
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from jobs.clock import DatabaseClock, database_now
from jobs.queue import database_owner, mark_restored
from jobs.upkeep.look_up import look_up_labels, look_up_requests


class Command(BaseCommand):
    """Has every unsent request looked up at Vertex AI before anything is sent."""

    help = (
        "Run this after you restore or copy the database. Trainboard then looks up each unsent request at Vertex AI,"
        " and sends it only if it is certain that it was not sent before."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument(
            "--take-over", action="store_true", help="let this instance send the jobs of another instance"
        )
        parser.add_argument(
            "--look-up", action="store_true", help="look up unsent requests and active jobs now, and print them"
        )
        parser.add_argument(
            "--without-answers", action="store_true", help="do not fail if Vertex AI does not answer every look-up"
        )

    def handle(self, *_: Any, **options: Any) -> None:
        """Mark the requests. Refuse a database of another instance, unless it is to be taken over."""
        owner = database_owner()
        if owner not in {"", settings.INSTANCE} and not options["take_over"]:
            raise CommandError(
                f"This database belongs to the instance “{owner}”. This site is “{settings.INSTANCE}”, so it sends"
                " nothing. If the other instance no longer runs, repeat the command with --take-over."
            )
        now = database_now()
        reason = "An administrator ran `manage.py restored`."
        count = mark_restored(reason, now=now, take_over=options["take_over"])
        self.stdout.write(
            f"{count} {'request is' if count == 1 else 'requests are'} looked up at Vertex AI before anything is sent;"
            " that takes about a minute. Jobs that Vertex AI has and this database does not know are listed under"
            " “Adopt”."
        )
        if options["look_up"]:
            self._look_up(is_lenient=options["without_answers"])

    def _look_up(self, *, is_lenient: bool) -> None:
        """Print what Vertex AI has. Fail if it did not answer something."""
        clock, missing = DatabaseClock(), 0
        for line, is_answered in chain(look_up_requests(clock), look_up_labels(clock)):
            missing += not is_answered
            self.stdout.write(line)
        if missing and not is_lenient:
            raise CommandError(
                f"Vertex AI did not answer {missing} look-up{'' if missing == 1 else 's'}. Repeat the command later, or"
                " continue with --without-answers: workers look up requests again before they send them."
            )
