"""Tests of persistent resources in Chromium: axe finds nothing, no sideways scrolling on a phone, live updates."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import expect

from jobs import observation
from jobs.models import PersistentResource
from tests.pages.conftest import MakeJob
from tests.pages.test_browser import OpenWindow, chromium, window
from tests.pages.test_persistent_resources import N1
from tests.support.accessibility import faults, faulty
from tests.support.clock import Clock
from tests.support.resources import seen

__all__ = ["chromium", "window"]
pytestmark = pytest.mark.browser
LONG = "a-name-as-long-as-any-persistent-resource-may-have-0123456789-x"


def test_the_page_is_accessible_and_fits(window: OpenWindow, make_job: MakeJob, owner: User, clock: Clock) -> None:
    view = window().sign_in("owner")
    observation.watch_resources(clock.now)
    view.page.goto("/persistent-resources/")
    empty = faults(view)
    make_job("running", name="resnet" * 20, resource="night-shift")
    make_job("queued", name="bert", resource="night-shift")
    seen(pools=[N1, N1 | {"replicaCount": "900", "autoscalingSpec": {}}], used=1, now=clock.now)
    seen(LONG, display_name="d" * 128, state="ERROR", body={"error": {"message": "m" * 300}}, now=clock.now)
    seen("odd", state="HIBERNATING" * 5, pools="none", now=clock.now - timedelta(minutes=20))
    seen("gone", gone_at=clock.now, now=clock.now)

    view.page.goto("/persistent-resources/")

    assert empty + faults(view) == []


def test_changes_are_accessible_and_fit(window: OpenWindow, make_job: MakeJob, approver: User, clock: Clock) -> None:
    view = window().sign_in("approver")
    make_job("running", name="resnet" * 20, resource=LONG)
    clock.forward(hours=5)
    row = seen(LONG, now=clock.now)
    ways = ("", "new/", *(f"{row.pk}/{action}/" for action in ("resize", "reboot", "delete")))

    assert faulty(view, [f"/persistent-resources/{way}" for way in ways], [1440, 390, 320]) == {}


def test_the_page_follows_by_itself(window: OpenWindow, owner: User, clock: Clock) -> None:
    seen(state="PROVISIONING", now=clock.now)
    page = window().sign_in("owner").page
    page.goto("/persistent-resources/")
    expect(page.get_by_text("PROVISIONING")).to_be_visible()

    PersistentResource.objects.all().delete()
    seen(used=3, now=clock.now)

    expect(page.get_by_role("img", name="3 of 4 replicas in use")).to_be_visible(timeout=10_000)


def test_an_update_keeps_the_focus_and_what_is_open(
    window: OpenWindow, make_job: MakeJob, approver: User, clock: Clock
) -> None:
    seen("night-shift", used=1, now=clock.now)
    make_job("running", name="resnet", resource="night-shift")
    clock.forward(hours=1)
    page = window().sign_in("approver").page
    page.goto("/persistent-resources/")
    details = page.locator("#live details").first
    details.locator("summary").click()
    page.get_by_role("link", name="Resize night-shift").focus()

    PersistentResource.objects.update(state="UPDATING")

    expect(page.get_by_text("UPDATING")).to_be_visible(timeout=20_000)
    assert details.get_attribute("open") is not None
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Resize night-shift"


@pytest.mark.parametrize("has_script", [True, False])
def test_the_form_offers_what_runs_there(window: OpenWindow, owner: User, clock: Clock, has_script: bool) -> None:
    seen(used=1, now=clock.now)
    page = window(java_script_enabled=has_script).sign_in("owner").page
    page.goto("/jobs/new/?example=1")

    if has_script:
        with page.expect_response("**/check/"):
            page.get_by_role("radio", name="Persistent resource").check()
    else:
        page.get_by_role("radio", name="Persistent resource").check()
        page.get_by_role("button", name="Validate").click()

    expect(page.locator("#resources option")).to_have_text("3 of 4 × a2-highgpu-1g free")
    page.get_by_label("Persistent resource", exact=True).last.fill("night-shift")
    assert page.locator("#resources option").get_attribute("value") == "night-shift"
