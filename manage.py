#!/usr/bin/env python
"""Django's command line: `python manage.py up` runs everything on this machine."""

from dashboard.__main__ import main

if __name__ == "__main__":
    main()
