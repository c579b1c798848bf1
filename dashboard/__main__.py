"""The command `trainboard-server`, and `python -m dashboard`: Django's command line with Trainboard's settings."""

import os
import sys

from django.core.management import execute_from_command_line

from dashboard import __version__


def main() -> None:
    """Run one command, or print the version of Trainboard instead of Django's."""
    if sys.argv[1:] in (["--version"], ["version"]):
        sys.stdout.write(f"{__version__}\n")
        return
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
