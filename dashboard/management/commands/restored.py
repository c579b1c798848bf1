"""`manage.py restored`: record that the database was restored or copied, before workers start again."""

import argparse
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from jobs.clock import database_now
from jobs.queue import database_owner, mark_restored


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
