"""A user of the site over HTTP without JavaScript, who reads pages and fills in their forms."""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin

import requests

PASSWORD = "trainboard"
TIMEOUT_SECONDS = 20


@dataclass
class Form:
    """A form of a page: its address, its values, and its named buttons as {name: [values]}."""

    action: str
    method: str
    values: dict[str, str] = field(default_factory=dict)
    buttons: dict[str, list[str]] = field(default_factory=dict)


class _Reader(HTMLParser):
    """Collects forms. Reads inputs, text areas and selects as a browser would send them."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self.select = ""
        self.area = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said: dict[str, Any] = dict(attrs)
        if tag == "form":
            self.forms.append(Form(said.get("action") or "", (said.get("method") or "get").lower()))
        if not self.forms:
            return
        form, name, value = self.forms[-1], said.get("name") or "", said.get("value") or ""
        if tag == "button" and name:
            form.buttons.setdefault(name, []).append(value)
        elif tag == "input" and name and (said.get("type") not in ("radio", "checkbox") or "checked" in said):
            form.values[name] = value or ("on" if said.get("type") == "checkbox" else "")
        elif tag == "select":
            self.select = name
        elif tag == "option" and self.select:
            if "selected" in said or self.select not in form.values:
                form.values[self.select] = value
        elif tag == "textarea":
            self.area = name
            form.values[name] = ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "select":
            self.select = ""
        elif tag == "textarea":
            self.area = ""

    def handle_data(self, data: str) -> None:
        if self.area:
            self.forms[-1].values[self.area] += (
                data.removeprefix("\n") if not self.forms[-1].values[self.area] else data
            )


def forms(html: str) -> list[Form]:
    """Return the forms of a page in order."""
    reader = _Reader()
    reader.feed(html)
    return reader.forms


def compose_form(html: str) -> Form:
    """Return the form of the compose page, the one with a button named "do"."""
    return next(form for form in forms(html) if "do" in form.buttons)


def csrf_of(html: str) -> str:
    """Return the token that every form of the page sends."""
    return next(form.values["csrfmiddlewaretoken"] for form in forms(html) if "csrfmiddlewaretoken" in form.values)


class Person:
    """A browser session of one person at one site."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.session = requests.Session()

    def close(self) -> None:
        """Close its connections."""
        self.session.close()

    def open(self, path: str) -> requests.Response:
        """Load a page that has to exist."""
        page = self.session.get(urljoin(self.address, path), timeout=TIMEOUT_SECONDS)
        page.raise_for_status()
        return page

    def sign_in(self, name: str) -> "Person":
        """Sign in through the form. Fail if the site refuses."""
        page = self.open("/accounts/login/")
        answer = self.send(page, forms(page.text)[0], username=name, password=PASSWORD)
        assert name in answer.text, f"{name} could not sign in"
        return self

    def send(self, page: requests.Response, form: Form, **changes: str) -> requests.Response:
        """Send a form of `page` with its values and `changes`, and follow the redirect. Fail on an error response."""
        unknown = [name for name in changes if name not in form.values and name not in form.buttons]
        assert unknown == [], f"the form has no {unknown}; it has {sorted(form.values)}"
        answer = self.session.post(
            urljoin(page.url, form.action or page.url),
            data={**form.values, **changes},
            headers={"Referer": page.url},
            timeout=TIMEOUT_SECONDS,
        )
        answer.raise_for_status()
        return answer

    # ------------------------------------------------------------ the journey
    def request_example(self, **changes: str) -> str:
        """Submit the example through the compose form. Return the path of the job's page."""
        page = self.open("/jobs/new/?example=1")
        answer = self.send(page, compose_form(page.text), do="submit", **changes)
        assert answer.url.rstrip("/") != urljoin(self.address, "/jobs/new").rstrip("/"), answer.text
        return answer.url.removeprefix(self.address)

    def decide(self, job: str, decision: str = "approve", comment: str = "go ahead") -> None:
        """Decide about a job on the approvals page."""
        page = self.open(f"/approvals/?job={job.removeprefix('/jobs/').rstrip('/')}")
        form = next(form for form in forms(page.text) if form.action == f"{job}decide/")
        self.send(page, form, decision=decision, comment=comment)

    def timeline(self, job: str) -> dict[str, Any]:
        """Return the job's events from the site's JSON."""
        timeline: dict[str, Any] = self.open(f"{job}events.json").json()
        return timeline

    def cost(self, job: str) -> float:
        """Return the cost in dollars that the job's page shows."""
        found = re.search(r"(?:So far|Total)</dt>\s*<dd><b>\$([\d.,]+)</b>", self.open(job).text)
        assert found, "the page says no cost"
        return float(found[1].replace(",", ""))
