"""Tests of budgets and approvals in Chromium: a lead sets budget and policy, and a deputy decides for an approver."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.support import waiting
from tests.support.browser import Window

pytestmark = pytest.mark.browser

OpenWindow = Callable[..., Window]
RUN_MILLISECONDS = 180_000


JOB = re.compile(r"/jobs/[-0-9a-f]{36}/")


def compose_example(page: Page, name: str) -> None:
    """Submit the example under a name."""
    page.goto("/jobs/new/?example=1")
    page.get_by_label("Display name", exact=True).fill(name)
    page.get_by_role("button", name="Submit").click()
    page.wait_for_url(JOB)
    expect(page.get_by_role("heading", level=1)).to_have_text(name)


def rule(page: Page, number: int) -> Locator:
    """Return the card of a rule on the policy page."""
    return page.get_by_role("region", name=f"Rule {number}", exact=True)


def accept(admin: Window, proposal: str) -> None:
    """Accept a change that a lead proposed, as the second person."""
    admin.page.goto(proposal)
    admin.page.get_by_role("button", name="Accept").click()
    expect(admin.page.get_by_text("Accepted: it applies now.")).to_be_visible()


def test_a_lead_sets_a_budget_and_a_policy(window: OpenWindow) -> None:
    engineer, lead, stranger = (window().sign_in(name) for name in ("engineer", "lead", "stranger"))
    compose_example(engineer.page, "before-the-policy")
    page = lead.page

    page.get_by_role("link", name="Spend", exact=True).click()
    page.get_by_role("link", name="Set a budget").click()
    page.get_by_role("link", name="New budget").click()
    page.get_by_label("Name").fill("training of vision")
    page.get_by_label("US dollars a month").fill("500")
    page.get_by_label("When a job may cost more than is left").select_option(label="refuse it")
    page.get_by_label("Reason").fill("agreed for this quarter")
    page.get_by_role("button", name="Set the budget").click()
    row = page.get_by_role("row").filter(has_text="training of vision")
    expect(row).to_contain_text("$500.00")
    expect(row).to_contain_text("is refused")

    page.get_by_text("More", exact=True).click()
    page.get_by_role("link", name="Policy", exact=True).click()
    expect(rule(page, 2)).to_contain_text("Ask 1 approver or lead if a job may cost over $5.00")
    rule(page, 2).locator("summary").first.click()
    rule(page, 2).get_by_label("Cost over, USD").fill("0.01")
    page.get_by_role("button", name="Add a rule").click()
    rule(page, 3).get_by_label("Outcome").select_option(label="Refuse")
    rule(page, 3).get_by_role("button", name="Move up").click()
    rule(page, 2).get_by_role("button", name="Move up").click()
    rule(page, 1).get_by_label("Accelerators over").fill("8")
    rule(page, 1).get_by_label("Message to the requester").fill("Ask the leads for a reservation first.")

    page.get_by_role("button", name=re.compile("^Test on the last")).click()
    tested = page.get_by_role("region", name="Test")
    expect(tested).to_contain_text("This policy would have asked for 1 of the last 1 jobs")
    page.get_by_label("Reason for the change").fill("no surprises")
    page.get_by_role("button", name="Save as version 1").click()
    expect(page.get_by_text("Policy 1 of vision now applies.")).to_be_visible()
    expect(page.get_by_role("region", name="Rules").get_by_role("listitem").first).to_contain_text(
        "Refuse if a job has over 8 accelerators. Ask the leads for a reservation first."
    )

    compose_example(engineer.page, "under-the-policy")
    expect(engineer.page.get_by_text("Policy 1, rule 3")).to_be_visible()
    engineer.page.goto("/policy/")
    expect(engineer.page.get_by_text("Leads of vision change them.")).to_be_visible()
    stranger.page.goto("/budgets/")
    expect(stranger.page.get_by_role("main")).not_to_contain_text("training of vision")


def test_a_rule_asks_two_groups(window: OpenWindow) -> None:
    people = ("engineer", "lead", "approver", "admin")
    engineer, lead, approver, admin = (window().sign_in(name) for name in people)
    page = lead.page
    page.goto("/policy/")
    count = page.get_by_role("region", name=re.compile(r"^Rule \d+$")).count()
    page.get_by_role("button", name="Add a rule").click()
    for number in range(count + 1, 1, -1):
        rule(page, number).get_by_role("button", name="Move up").click()
    added = rule(page, 1)
    added.get_by_label("Message to the requester").fill("Two groups agree.")
    added.get_by_text("Who approves", exact=True).click()
    added.get_by_label("Decided by").select_option(label="leads only")
    added.get_by_role("button", name="Add approvers").click()
    group = rule(page, 1).get_by_role("group", name="And also")
    group.get_by_label("Only these people").fill("approver")
    expect(rule(page, 1).get_by_label("Message to the requester")).to_have_value("Two groups agree.")
    assert lead.overflow() <= 0
    page.get_by_role("button", name=re.compile("^Save as version")).click()
    sentence = "Ask 1 lead and 1 of approver about every job. Two groups agree."
    expect(page.get_by_role("region", name="Difference")).to_contain_text(sentence)
    accept(admin, page.url)
    page.goto("/policy/")
    expect(rule(page, 1)).to_contain_text("Ask 1 lead and 1 of approver about every job")

    compose_example(engineer.page, "for-two-groups")
    for person, label in ((lead, "0 of 1: leads"), (approver, "1 of 1: leads")):
        page = person.page
        page.goto(f"/approvals/?job={engineer.page.url.rstrip('/').rpartition('/')[2]}")
        expect(page.get_by_role("list", name="Approvals needed")).to_contain_text(label)
        page.get_by_role("button", name=re.compile("^Approve up to")).click()
    expect(page.get_by_text("Approved for-two-groups.")).to_be_visible()
    engineer.page.reload()
    words = re.compile("lead approved it; 1 of approver still needed")
    expect(engineer.page.get_by_role("cell", name=words)).to_be_visible()

    lead.page.goto("/policy/")
    rule(lead.page, 1).get_by_role("button", name="Remove").click()
    lead.page.get_by_role("button", name=re.compile("^Save as version")).click()
    expect(lead.page.get_by_role("region", name="Difference")).to_contain_text("Two groups")
    accept(admin, lead.page.url)
    lead.page.goto("/policy/")
    expect(rule(lead.page, 1)).not_to_contain_text("1 of approver")


def test_an_approver_chooses_another_strategy_on_a_phone(window: OpenWindow) -> None:
    engineer, approver = (
        window().sign_in("engineer"),
        window(viewport={"width": 390, "height": 800}).sign_in("approver"),
    )
    page = engineer.page
    page.goto("/jobs/new/?example=1")
    page.get_by_label("Display name", exact=True).fill("cheaper-elsewhere")
    page.get_by_role("radio", name=re.compile("^Standard")).check()
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("cheaper-elsewhere")

    phone = approver.page
    phone.goto(f"/approvals/?job={page.url.rstrip('/').rpartition('/')[2]}")
    phone.get_by_role("button", name=re.compile(r"^Approve as Spot, about \$")).click()
    expect(phone.get_by_text("under the other strategy is recorded")).to_be_visible()
    assert approver.overflow() <= 0

    expect(page.get_by_text("An approver would run it under Spot")).to_be_visible()  # the page renews itself
    page.get_by_role("button", name="Accept Spot").click()
    expect(
        page.get_by_text("You accepted the strategy").or_(page.get_by_text("Approved cheaper-elsewhere"))
    ).to_be_visible()
    expect(page.get_by_role("cell", name=re.compile("approver changed the strategy from Standard"))).to_be_visible()


def test_a_deputy_approves_for_an_approver_who_is_away(window: OpenWindow) -> None:
    lead, approver = window().sign_in("lead"), window().sign_in("approver")
    deputy = window(viewport={"width": 390, "height": 800}).sign_in("engineer")
    compose_example(lead.page, "of-the-lead")
    deputy.page.goto("/approvals/")
    expect(deputy.page.get_by_role("button", name=re.compile("^Approve"))).to_have_count(0)

    page = approver.page
    page.get_by_role("link", name=re.compile("^Approvals")).click()
    page.get_by_role("link", name="Deputies").click()
    page.get_by_label("Deputy", exact=True).select_option("engineer")
    page.get_by_role("button", name="Add deputy").click()
    expect(page.get_by_text(re.compile("^engineer decides for you from"))).to_be_visible()

    phone = deputy.page
    phone.goto("/approvals/")
    requests = phone.get_by_role("navigation", name="Requests")
    requests.get_by_role("link", name="of-the-lead").click()
    expect(phone.get_by_text("You decide for approver, whose deputy you are.")).to_be_visible()
    phone.get_by_role("button", name=re.compile("^Approve up to")).click()
    expect(phone.get_by_text("Approved of-the-lead.")).to_be_visible()

    lead.page.reload()
    expect(lead.page.get_by_role("cell", name=re.compile("engineer for approver approved it"))).to_be_visible()
    lead.page.goto("/spend/?of=person")
    committed = lead.page.locator(".spend-strip > div").filter(has_text="committed")
    expect(committed.locator("b")).to_have_text(re.compile(r"^\$(?!0\.00)"))
    lead.page.get_by_role("link", name="Board", exact=True).first.click()
    done = lead.page.get_by_role("row").filter(has_text="of-the-lead")
    expect(done).to_contain_text("SUCCEEDED", timeout=RUN_MILLISECONDS)
    spent = lead.page.get_by_role("row", name=re.compile("^lead"))

    def is_counted() -> bool:
        lead.page.goto("/spend/?of=person")
        return spent.count() > 0

    waiting.until(is_counted, seconds=60, every=1, what="a sweep has counted the job that ended")
    expect(spent).to_contain_text(re.compile(r"\$0?\d*\.\d\d"))
