"""`manage.py sign_in_link NAME`: print a link that signs one person in once."""

import argparse
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError
from django.urls import reverse

from dashboard.access.one_time_links import LIFETIME, make_secret


class Command(BaseCommand):
    """Gives access to an admin who can sign in neither with a provider nor with a password."""

    help = "Print a link that signs one user in once, within ten minutes. Use it if nobody can sign in otherwise."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the argument."""
        parser.add_argument("name", help="user name of the account")

    def handle(self, *_: Any, **options: Any) -> None:
        """Print the link."""
        user = User.objects.filter(username=options["name"], is_active=True).first()
        if user is None:
            raise CommandError(f"There is no active account {options['name']}.")
        path = reverse("sign-in-once", args=[make_secret(user)])
        minutes = int(LIFETIME.total_seconds() // 60)
        self.stdout.write(f"{settings.SITE_URL.rstrip('/')}{path}")
        self.stderr.write(f"The link signs {user.get_username()} in once, within {minutes} minutes.")
