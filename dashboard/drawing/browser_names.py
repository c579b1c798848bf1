"""The name of a browser from its User-Agent, which anybody can forge: it is only a hint for its owner."""

from django.utils.translation import gettext as _

BROWSERS = (("Edg/", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"), ("Chrome/", "Chrome"), ("Safari/", "Safari"))
SYSTEMS = (
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
)


def browser_name(agent: str) -> str:
    """Return "Firefox on Windows", as far as the text has that; else its beginning."""
    browser = next((name for sign, name in BROWSERS if sign in agent), "")
    system = next((name for sign, name in (*SYSTEMS, ("Linux", "Linux")) if sign in agent), "")
    known = " on ".join(filter(None, (browser, system)))
    return known or agent[:60] or _("unknown browser")
