"""Addresses of every page of the site with its filters, searches and deep pages, in a database of `many_jobs`."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from urllib.parse import quote

from jobs.models import Job, Template
from tests.support.many_jobs import World

MEMBER, MANAGER, ADMIN = "person050", "person000", "admin"
"""Visitors: a user in one team, a user in several teams, and a superuser, who sees every job."""
MAX_QUERIES = 10
"""Maximum queries of one page."""


@dataclass(frozen=True)
class Visit:
    """A request by one of the visitors. A fragment is requested by htmx."""

    name: str
    path: str
    who: str = MEMBER
    is_fragment: bool = False
    form: dict[str, str] = field(default_factory=dict)
    """Posted values; {} for a GET."""

    def __str__(self) -> str:
        return f"{self.name}, {'fragment, ' if self.is_fragment else ''}{self.who}"


def visits(world: World, now: datetime) -> list[Visit]:
    """Return all visits. The first job of the world is the one with very many events."""
    return [*_lists(now), *_job_pages(world), *_other_pages(world)]


def _lists(now: datetime) -> Iterator[Visit]:
    today, old = f"{now:%Y-%m-%d}", now - timedelta(days=600)
    deep = quote(f"{old.isoformat()}~00000000-0000-4000-8000-000000000000")
    for who in (MEMBER, MANAGER, ADMIN):
        yield Visit("board", "/?who=all", who)
        yield Visit("board", "/?who=all", who, is_fragment=True)
        yield Visit("board, next page", "/?who=all&page=2", who)
        yield Visit("history", "/history/", who)
        yield Visit("spend", "/spend/", who)
        yield Visit("spend by label", f"/spend/?of=label&month={old:%Y-%m}", who)
        yield Visit("history, deep page", f"/history/?before={deep}", who)
        yield Visit("history, name", "/history/?q=bert", who)
        yield Visit("history, no such name", "/history/?q=zebra", who)
        yield Visit("history, no such name, deep", f"/history/?q=zebra&before={deep}", who)
        for query in ("state=failed", "state==lost", "strategy=persistent", "owner=person050", "owner=nobody"):
            yield Visit(f"history, {query}", f"/history/?{query}", who)
        yield Visit("history, ended today", f"/history/?by=ended&since={today}", who)
        yield Visit("history, failed today", f"/history/?state=failed&by=ended&since={today}", who)
        yield Visit(
            "history, old days", f"/history/?since={old:%Y-%m-%d}&until={old + timedelta(days=30):%Y-%m-%d}", who
        )
        for name, since, until in (("90 days", 90, 0), ("since", 720, 0), ("long range", 700, 20)):
            first, last = (f"{now - timedelta(days=days):%Y-%m-%d}" for days in (since, until))
            yield Visit(f"history, {name}", f"/history/?since={first}" + (f"&until={last}" if until else ""), who)
        yield Visit("history, several filters", "/history/?q=train-77&state=expired&strategy=spot", who)
    yield Visit("board, mine", "/?who=mine")
    yield Visit("board by owner", "/?who=all&group=owner", ADMIN)
    for search in ("bert", "zebra", "state:running", "owner:person050", "machine:a2", "strategy:spot"):
        yield Visit(f"board, {search}", f"/?who=all&q={search}", MANAGER)


def _job_pages(world: World) -> Iterator[Visit]:
    long = world.long
    assert long is not None
    open_jobs = [job for job in world.jobs if job.ended_at is None and job is not long]
    found = {
        "with 20,000 events": long,
        "running": next(job for job in open_jobs if job.state == "running" and job.kind == "custom_job"),
        "waiting": next(job for job in open_jobs if job.state == "queued"),
        "failed": next(job for job in world.jobs if job.state == "failed"),
        "succeeded": next(job for job in world.jobs if job.state == "succeeded"),
        "tuning": next(job for job in world.jobs if job.trial_seconds is not None and job.ended_at),
    }
    for name, job in found.items():
        yield Visit(f"job {name}", f"/jobs/{job.pk}/", ADMIN)
        yield Visit(f"job {name}, live", f"/jobs/{job.pk}/live/", ADMIN, is_fragment=True)
        yield Visit(f"job {name}, log", f"/jobs/{job.pk}/log/", ADMIN, is_fragment=True)
        yield Visit(f"job {name}, events", f"/jobs/{job.pk}/events.json", ADMIN)
    yield Visit("study", f"/studies/{found['tuning'].pk}/", ADMIN)
    yield Visit("study as CSV", f"/studies/{found['tuning'].pk}/trials.csv", ADMIN)
    yield Visit("log as text", f"/jobs/{found['succeeded'].pk}/log.txt", ADMIN)
    yield Visit("log, new lines", f"/jobs/{long.pk}/log/new/", ADMIN, is_fragment=True)
    yield Visit("cancel", f"/jobs/{found['running'].pk}/cancel/", ADMIN)
    yield Visit("delete", f"/jobs/{found['succeeded'].pk}/delete/", ADMIN)
    yield Visit("template of a job", f"/jobs/{found['succeeded'].pk}/template/", ADMIN)
    yield Visit("spec", f"/jobs/{found['succeeded'].pk}/spec.json", ADMIN)
    first, second = found["failed"], found["succeeded"]
    both = f"job={first.pk}&job={second.pk}"
    yield Visit("several", f"/jobs/several/?{both}&action=cancel", ADMIN)
    yield Visit("job running, as a table", f"/jobs/{found['running'].pk}/?as=table", ADMIN)
    yield Visit("compare two", f"/compare/?a={first.pk}&b={second.pk}", ADMIN)
    yield Visit("compare three", f"/compare/?{both}&job={found['running'].pk}", ADMIN)
    yield Visit("compare one", f"/compare/?a={first.pk}", ADMIN)
    family = f"/families/{world.family}/"
    run = next(job for job in world.jobs if job.family == world.family)
    yield Visit("family", family, ADMIN)
    yield Visit("family, by cost", f"{family}?sort=-cost&page=2", ADMIN)
    yield Visit("family, by a setting", f"{family}?sort=set:--lr&where=set:--lr&sign=from&value=0.2", ADMIN)
    yield Visit("family, by a metric", f"{family}?sort=-metric:accuracy&metric=accuracy&by=time", ADMIN)
    yield Visit("family, moving", f"{family}move/?job={run.pk}", ADMIN)
    yield Visit("compose a copy", f"/jobs/new/?job={first.pk}", ADMIN)


def _other_pages(world: World) -> Iterator[Visit]:
    template = Template.objects.filter(team=world.teams[10]).order_by("pk").first()
    assert template is not None
    for who in (MEMBER, MANAGER, ADMIN):
        yield Visit("approvals", "/approvals/", who)
        yield Visit("compose", "/jobs/new/", who)
        yield Visit("compare", "/compare/", who)
        yield Visit("templates", "/templates/", who)
        yield Visit("messages", "/messages/", who)
        yield Visit("messages, unread", "/messages/?show=unread", who)
        yield Visit("messages, count", "/messages/count/", who)
        yield Visit("persistent resources", "/persistent-resources/", who)
        yield Visit("budgets", "/budgets/", who)
        yield Visit("policy", "/policy/", who)
        yield Visit("effects of a policy", "/policy/effects/", who)
        yield Visit("deputies", "/deputies/", who)
        yield Visit("teams", "/teams/", who)
        yield Visit("account", "/account/", who)
        yield Visit("API tokens", "/account/tokens/", who)
        yield Visit("prices", "/prices/", who)
        yield Visit("guide", "/docs/", who)
        yield Visit("guide, a page", "/docs/strategies/", who)
        yield Visit("jump", "/jump/?q=train+state:failed", who)
        yield Visit("completion", "/jump/words/?q=train+owner:", who)
    team = world.teams[0].pk
    for name in ("teams", "teams/{}/invitations", "budgets/new", "spend/billing"):
        path = name.format(team) if "{}" in name else f"{name}/{team}"
        yield Visit(f"{name} of a team", f"/{path}/", ADMIN)
    for name in ("people", "audit", "doctor", "persistent-resources/new"):
        yield Visit(name, f"/{name}/", ADMIN)
    yield Visit("API", "/api/")
    yield Visit("message settings", "/messages/settings/")
    yield Visit("channels", "/messages/channels/", ADMIN)
    yield Visit("not delivered", "/messages/undelivered/", ADMIN)
    yield Visit("template", f"/templates/{template.pk}/")
    yield Visit("compose from a template", f"/jobs/new/?template={template.pk}")
    yield Visit("catalogue", "/catalogue/")
    yield Visit("rules", "/rules/")
    yield Visit("import", "/jobs/import/")
    yield Visit("adopt", "/jobs/adopt/")
    for model in ("job", "jobevent", "team", "scope"):
        yield Visit(f"admin, {model}", f"/admin/jobs/{model}/", ADMIN)
    yield Visit("admin, one job", f"/admin/jobs/job/{Job.objects.values_list('pk', flat=True).first()}/change/", ADMIN)
    yield Visit("admin, search", "/admin/jobs/job/?q=zebra", ADMIN)
