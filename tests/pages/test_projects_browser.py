"""Tests of the project choice in Chromium: shown for a team with several, keeps the focus, sent with the job."""

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import expect

from jobs.models import AllowedResource, Job, Team
from tests.pages.test_browser import OpenWindow, chromium, window
from tests.support.accessibility import faults

pytestmark = pytest.mark.browser
__all__ = ["chromium", "window"]
SECOND = "vision-two-with-a-name-that-is-as-long-as-one-can-be"


@pytest.fixture
def two_teams(team: Team, other_team: Team, owner: User) -> None:
    """The owner is in two teams, of which the second one has two projects."""
    AllowedResource.objects.create(team=team, kind="project", name=SECOND)
    other_team.memberships.create(user=owner, role="engineer")


@pytest.mark.usefixtures("two_teams")
def test_it_comes_with_the_team_and_goes_with_the_job(window: OpenWindow) -> None:
    page = window().sign_in("owner").page
    page.goto("/jobs/new/?example=1")
    choice = page.get_by_label("Project", exact=True)
    expect(choice).to_have_count(0)

    page.get_by_label("Team").select_option("vision")
    expect(choice).to_have_value("")
    choice.focus()
    with page.expect_response("**/check/"):
        choice.select_option(SECOND)
    expect(choice).to_be_focused()
    with page.expect_response("**/check/"):
        page.get_by_label("gcloud command").check()
    expect(page.get_by_role("textbox", name="Request")).to_contain_text(f"--project={SECOND}")
    with page.expect_response("**/check/"):
        page.get_by_label("Expected run time").fill("3 min")
    expect(choice).to_have_value(SECOND)

    page.get_by_role("button", name="Submit").click()
    page.wait_for_url("**/jobs/*-*/")
    assert Job.objects.get().project == SECOND


@pytest.mark.usefixtures("two_teams")
def test_another_team_that_may_not_use_it_says_so_until_one_of_its_own_is_chosen(window: OpenWindow) -> None:
    page = window().sign_in("owner").page
    page.goto("/jobs/new/?example=1")
    choice = page.get_by_label("Project", exact=True)
    page.get_by_label("Team").select_option("vision")
    choice.select_option(SECOND)

    with page.expect_response("**/check/"):
        page.get_by_label("Team").select_option("speech")
    expect(page.locator("#id_project-finds")).to_contain_text(f"may not use the project {SECOND}")
    expect(page.locator("#verdict")).to_contain_text("1 error")
    with page.expect_response("**/draft/"):  # a request that is cut off is an error in the console
        choice.select_option("")

    expect(choice).to_have_count(0)
    expect(page.locator("#verdict")).not_to_contain_text("error")


@pytest.mark.usefixtures("two_teams")
def test_it_is_accessible_and_fits(window: OpenWindow) -> None:
    view = window()
    page = view.sign_in("owner").page
    page.goto("/jobs/new/?example=1")
    page.get_by_label("Team").select_option("vision")
    with page.expect_response("**/check/"):
        page.get_by_label("Project", exact=True).select_option(SECOND)

    assert faults(view, [1280, 390, 320]) == []


def test_nobody_of_one_project_is_asked(window: OpenWindow, owner: User, stranger: User) -> None:
    AllowedResource.objects.create(team=Team.objects.get(name="speech"), kind="project", name=SECOND)
    page = window().sign_in("owner").page
    page.goto("/jobs/new/?example=1")
    with page.expect_response("**/check/"):
        page.get_by_label("Expected run time").fill("3 min")

    expect(page.get_by_label("Project", exact=True)).to_have_count(0)
    assert SECOND not in page.content()
