"""Name a browser by its User-Agent. The header can be forged, so the name is only a hint for the owner."""

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
    """Return a name such as "Firefox on Windows", as far as it can be recognized, else the beginning of the header."""
    browser = next((name for sign, name in BROWSERS if sign in agent), "")
    system = next((name for sign, name in (*SYSTEMS, ("Linux", "Linux")) if sign in agent), "")
    known = " on ".join(filter(None, (browser, system)))
    return known or agent[:60] or _("unknown browser")
