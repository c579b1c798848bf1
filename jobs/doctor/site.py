"""Checks of this site: database, Redis, processes, clocks, prices, disk space, e-mail and sign-in providers."""

import shutil
import smtplib
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.models import F

from jobs import prices, stages
from jobs.clients import billing_client
from jobs.cost.prices import MAX_PRICE_AGE
from jobs.database import accepts_writes
from jobs.doctor.report import Check, Status, failed, passed, warned
from jobs.models import Heartbeat, QuotaReading, Team
from jobs.people import openid
from jobs.queue import claims
from jobs.queue.redis_state import RedisState
from jobs.queue.redis_state import check_redis as check
from jobs.texts import joined
from jobs.texts import translatable as _
from jobs.upkeep import quota_reading
from jobs.upkeep.heartbeats import last_step
from jobs.upkeep.start_repair import undecided_starts

GROUP = _("This site")
MIN_POSTGRES = 140_000
PATIENCE_SECONDS = 3
MAX_CLOCK_ERROR = timedelta(seconds=2)
MAX_HEARTBEAT_AGE = timedelta(seconds=45)
MAX_IMPORT_AGE = timedelta(days=2)
"""Prices are imported once a day."""
MAX_QUOTA_AGE = timedelta(days=1)
SHOWN_STEP = timedelta(days=1)
MAX_NAMED = 10
WARN_BYTES, FAIL_BYTES = 2**30, 2**27


def check_teams(_now: datetime) -> Iterator[Check]:
    """Check that with several teams none has open lists: its jobs could use what belongs to the others."""
    teams = list(Team.objects.order_by("name").values_list("name", "is_closed"))
    names = [name for name, is_closed in teams if not is_closed]
    if not names or len(teams) < 2:
        yield passed(GROUP, _("allowed resources"), _("No team may use what belongs to another team."))
        return
    words = _("Empty lists allow everything to %(names)s.", names=", ".join(names[:MAX_NAMED]))
    repair = _("As a site admin, open the team’s settings and choose “List what the team has used”.")
    yield failed(GROUP, _("allowed resources"), words, repair)


def check_database(_now: datetime) -> Iterator[Check]:
    """Check the database's version and the settings that Trainboard relies on."""
    if connection.vendor == "postgresql":
        yield from _postgres()
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT sqlite_version()")
        version = str(cursor.fetchone()[0])
        cursor.execute("PRAGMA journal_mode")
        journal = str(cursor.fetchone()[0])
        cursor.execute("PRAGMA synchronous")
        synchronous = int(cursor.fetchone()[0])
    yield passed(GROUP, _("database"), _("SQLite %(version)s, which serves one machine.", version=version))
    words = f"journal_mode={journal}, synchronous={synchronous}"
    is_safe = journal in ("wal", "memory") and synchronous >= 2
    yield Check(GROUP, _("database settings"), Status.PASS if is_safe else Status.FAIL, words)


def _postgres() -> Iterator[Check]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('server_version'), current_setting('server_version_num')::int")
        version, number = cursor.fetchone()
        names = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
        cursor.execute(f"SELECT {', '.join(f'current_setting({name!r})' for name in names)}")
        limits = dict(zip(names, cursor.fetchone(), strict=True))
    status = Status.PASS if number >= MIN_POSTGRES else Status.FAIL
    yield Check(GROUP, _("database"), status, _("PostgreSQL %(version)s; 14 or newer is needed.", version=version))
    if accepts_writes():
        yield passed(GROUP, _("database writes"), _("It accepts writes."))
    else:
        words = _("It accepts no writes, as a standby does. Let DATABASE_URL name the server that has taken over.")
        yield failed(GROUP, _("database writes"), words)
    for name, value in limits.items():
        if value == "0":
            yield warned(
                GROUP,
                name,
                _("There is no limit."),
                f"ALTER ROLE {connection.settings_dict['USER']} SET {name} = '30s'",
            )
        else:
            yield passed(GROUP, name, value)


def check_migrations(_now: datetime) -> Iterator[Check]:
    """Check that all migrations are applied to the database."""
    executor = MigrationExecutor(connection)
    missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if missing:
        yield failed(GROUP, _("migrations"), _("Not applied: %(n)s.", n=len(missing)), "python manage.py migrate")
    else:
        yield passed(GROUP, _("migrations"), _("All are applied."))


def check_redis(_now: datetime) -> Iterator[Check]:
    """Check that Redis answers and accepts writes."""
    state, error = check(PATIENCE_SECONDS)
    if state is RedisState.OK:
        yield passed(GROUP, "Redis", _("It answers and accepts writes."))
    elif state is RedisState.NO_WRITES:
        words = _("It accepts no writes, so nothing reaches a worker: %(error)s", error=error)
        yield failed(GROUP, "Redis", words, "redis-cli INFO memory; redis-cli INFO replication")
    else:
        words = _("It does not respond (%(error)s), so nothing reaches a worker. Check REDIS_URL.", error=error)
        yield failed(GROUP, "Redis", words)


def check_processes(now: datetime) -> Iterator[Check]:
    """Check that beat and a worker for each queue have sent a heartbeat recently."""
    rows = Heartbeat.objects.filter(at__range=(now - MAX_HEARTBEAT_AGE, now + MAX_HEARTBEAT_AGE)).values_list(
        "part", "queues"
    )
    fresh = {(part, queue) for part, queues in rows for queue in queues.split(",")}
    parts = [
        (_("worker for %(queue)s", queue=each.name), ("worker", each.name)) for each in settings.CELERY_TASK_QUEUES
    ]
    commands = {
        "worker": "celery -A dashboard.celery worker --pool threads --queues ",
        "beat": "celery -A dashboard.celery beat",
    }
    for name, key in [*parts, ("beat", ("beat", ""))]:
        if key in fresh:
            yield passed(GROUP, name, _("It runs."))
        else:
            yield failed(GROUP, name, _("None has reported for 45 s."), commands[key[0]] + key[1])


def check_sweep(now: datetime) -> Iterator[Check]:
    """Check that sweeps complete, and name the stages that fail or are late."""
    whole, states = stages.states(now)
    if whole.finished_at is None:
        yield failed(GROUP, _("sweep"), _("None has completed yet."))
    else:
        seconds = f"{max((now - whole.finished_at).total_seconds(), 0):.0f}"
        words = _("The last one completed %(seconds)s s ago.", seconds=seconds)
        yield (failed if whole.is_late else passed)(GROUP, _("sweep"), words)
    for each in states:
        name = _("sweep: %(stage)s", stage=each.name)
        if each.failing_since is not None:
            since = each.failing_since.isoformat(" ", "minutes")
            words = _(
                "It has failed %(n)s times since %(since)s: %(error)s",
                n=each.failures,
                since=since,
                error=each.last_error,
            )
            yield failed(GROUP, name, words)
        elif each.is_late and whole.finished_at is not None:
            yield warned(GROUP, name, _("It has not finished for a long time."))


def check_clock(now: datetime, machine_now: Callable[[], datetime]) -> Iterator[Check]:
    """Compare this machine's clock with the database's, which decides."""
    apart = abs(machine_now() - now)
    words = _(
        "This machine's clock and the database's are %(seconds)s s apart; the database's decides.",
        seconds=f"{apart.total_seconds():.1f}",
    )
    yield (
        passed(GROUP, _("clock"), words)
        if apart <= MAX_CLOCK_ERROR
        else warned(GROUP, _("clock"), words, "sudo chronyc makestep")
    )
    if step := last_step(now, SHOWN_STEP):
        words = _(
            "The database's clock stepped by %(seconds)s s within the last day, or its machine stood still. "
            "Let its clock be corrected gradually.",
            seconds=f"{step.total_seconds():+.0f}",
        )
        yield warned(GROUP, _("database clock"), words, "timedatectl timesync-status")


def check_prices(now: datetime) -> Iterator[Check]:
    """Check the age of the prices that estimates use."""
    if billing_client() is None:
        yield passed(GROUP, _("prices"), _("Nothing is imported with an emulator."))
        return
    row = claims.last_run(prices.UPKEEP)
    repair = "python manage.py import_prices"
    if row is None or row.answered_at is None:
        yield warned(GROUP, _("prices"), _("Google's price list has not been read yet."), repair)
    elif now - row.answered_at > MAX_IMPORT_AGE:
        days = (now - row.answered_at).days
        is_old = now - row.answered_at > MAX_PRICE_AGE
        words = _("Google's price list was last read %(days)s days ago: %(why)s", days=days, why=row.last_error)
        yield Check(GROUP, _("prices"), Status.FAIL if is_old else Status.WARN, words, repair)
    else:
        yield passed(GROUP, _("prices"), _("Google's price list was read in the last two days."))


def check_quotas(now: datetime) -> Iterator[Check]:
    """Check that limits and use of training quotas are read, and name those that are used up."""
    row = claims.last_run(quota_reading.UPKEEP)
    if row is None or row.answered_at is None:
        words = joined(_("They have not been read yet."), row.last_error if row is not None else "")
        yield warned(GROUP, _("quotas"), words, "gcloud services enable cloudquotas.googleapis.com")
    elif row.last_error:
        yield warned(GROUP, _("quotas"), _("They could not be read everywhere: %(why)s", why=row.last_error))
    else:
        read = QuotaReading.objects.filter(read_at__gte=now - MAX_QUOTA_AGE)
        full = read.filter(limit__gt=0, used__gte=F("limit")).order_by("project", "region", "metric")
        names = [f"{each.metric} ({each.project}, {each.region})" for each in full[:MAX_NAMED]]
        words = _("%(n)s were read; none is used up.", n=read.count())
        if names:
            words = _("Used up: %(names)s.", names="; ".join(names))
        yield (warned if names else passed)(GROUP, _("quotas"), words)


def check_sign_in(_now: datetime) -> Iterator[Check]:
    """Check that the discovery document of each sign-in provider can be read; no check without providers."""
    for provider in settings.SIGN_IN_PROVIDERS:
        name = _("sign-in with %(provider)s", provider=provider.name)
        try:
            openid.read_metadata(provider.issuer)
        except openid.NotReadable as reason:
            yield failed(
                GROUP,
                name,
                _("Nobody can sign in with it: %(why)s", why=reason),
                f"curl -i {provider.issuer}{openid.SUFFIX}",
            )
        else:
            yield passed(GROUP, name, _("Its discovery document can be read."))


def check_starts(_now: datetime) -> Iterator[Check]:
    """Name the jobs whose recorded start may be Vertex AI's provisional time, so that their cost may be too high."""
    undecided = undecided_starts()
    if not (count := undecided.count()):
        yield passed(GROUP, _("start times"), _("Every recorded start is confirmed."))
        return
    names = ", ".join(undecided.values_list("display_name", flat=True)[:MAX_NAMED])
    words = _(
        "%(n)s may be provisional times of jobs that still waited; no log decides: %(names)s", n=count, names=names
    )
    yield warned(GROUP, _("start times"), words, "python manage.py audit")


def check_disk(_now: datetime) -> Iterator[Check]:
    """Check the free space for an SQLite database; no check for another database."""
    if settings.SQLITE_FILE is None:
        return
    free = shutil.disk_usage(settings.SQLITE_FILE.parent).free
    words = _("%(size)s GiB are free where the database is.", size=f"{free / 2**30:.1f}")
    status = Status.PASS if free > WARN_BYTES else Status.WARN if free > FAIL_BYTES else Status.FAIL
    yield Check(GROUP, _("disk"), status, words, "" if status is Status.PASS else "python manage.py prune")


def check_email(_now: datetime) -> Iterator[Check]:
    """Check that the mail server answers, if the site has one."""
    if not settings.EMAIL_BACKEND.endswith("smtp.EmailBackend") or settings.EMAIL_HOST == "localhost":
        yield passed(GROUP, _("e-mail"), _("No mail server is set, so no message is sent by e-mail."))
        return
    host = f"{settings.EMAIL_HOST}:{settings.EMAIL_PORT}"
    maker = smtplib.SMTP_SSL if settings.EMAIL_USE_SSL else smtplib.SMTP
    try:
        with maker(settings.EMAIL_HOST, settings.EMAIL_PORT, timeout=PATIENCE_SECONDS) as server:
            server.noop()
    except (OSError, smtplib.SMTPException) as error:
        yield failed(
            GROUP, _("e-mail"), _("%(host)s does not answer: %(error)s.", host=host, error=type(error).__name__)
        )
    else:
        yield passed(GROUP, _("e-mail"), _("%(host)s answers.", host=host))
