"""Tests of the demo users: who they are, and where they may not exist."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.checks import ERROR, WARNING, CheckMessage, run_checks
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command

from dashboard.access import known_password
from dashboard.management.demo import jobs, people
from dashboard.management.supervisor.claim import claim
from jobs.models import Job, Membership, Policy
from jobs.spec import has_errors
from jobs.strategies import check

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _a_rehearsal(settings: object) -> None:
    """What `up` makes of the settings: an emulator here, and no name but loopback's."""
    settings.ALLOWED_HOSTS = ["127.0.0.1", "localhost", "[::1]"]  # type: ignore[attr-defined]
    settings.VERTEX_ENDPOINT = "http://127.0.0.1:8900"  # type: ignore[attr-defined]


@pytest.fixture
def state(settings: object, tmp_path: object) -> object:
    settings.STATE_DIR = tmp_path  # type: ignore[attr-defined]
    return tmp_path


def test_creates_everybody_who_signs_in() -> None:
    assert people.create("127.0.0.1") == ["engineer", "approver", "lead", "stranger", "admin"]

    roles = {f"{row.user} in {row.team}": row.role for row in Membership.objects.select_related("user", "team")}
    assert roles == {
        "engineer in vision": "engineer",
        "approver in vision": "approver",
        "lead in vision": "lead",
        "stranger in speech": "engineer",
    }
    assert [user.username for user in User.objects.filter(is_superuser=True)] == ["admin"]
    assert all(user.check_password("trainboard") for user in User.objects.all())
    assert Policy.objects.get(team__name="vision").ask_over_usd == 5


def test_a_second_time_changes_nothing_that_people_changed() -> None:
    people.create("127.0.0.1")
    engineer = User.objects.get(username="engineer")
    engineer.set_password("my own")
    engineer.save()
    Membership.objects.filter(user=engineer).update(role="lead")
    Policy.objects.filter(team__name="vision").update(ask_over_usd=7)

    assert people.create("127.0.0.1") == []

    engineer.refresh_from_db()
    assert engineer.check_password("my own")
    assert Membership.objects.get(user=engineer).role == "lead"
    assert Policy.objects.get(team__name="vision").ask_over_usd == 7


def test_somebody_who_was_removed_from_a_team_is_not_put_back() -> None:
    people.create("127.0.0.1")
    Membership.objects.filter(user__username="stranger").delete()

    people.create("127.0.0.1")

    assert not Membership.objects.filter(user__username="stranger").exists()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "board.example.org"])
def test_is_refused_when_others_can_reach_the_site(host: str) -> None:
    with pytest.raises(people.NotLoopback, match="loopback only: the site listens on"):
        people.create(host)

    assert not User.objects.exists()


ELSEWHERE = [
    ({"SECURE": True}, "TRAINBOARD_HTTPS is on"),
    ({"ALLOWED_HOSTS": ["localhost", "board.example.org"]}, "TRAINBOARD_HOSTS has board.example.org"),
    ({"ALLOWED_HOSTS": ["*"]}, "TRAINBOARD_HOSTS has"),
    ({"ALLOWED_HOSTS": [".localhost.example"]}, "TRAINBOARD_HOSTS has"),
    ({"CSRF_TRUSTED_ORIGINS": ["https://board.example.org"]}, "TRAINBOARD_ORIGINS is set"),
    ({"VERTEX_ENDPOINT": ""}, "the real Vertex AI"),
    ({"VERTEX_ENDPOINT": "https://private.example.org"}, "TRAINBOARD_VERTEX_ENDPOINT is not on this machine"),
    ({"VERTEX_ENDPOINT": "http://[::1"}, "TRAINBOARD_VERTEX_ENDPOINT is not on this machine"),
    ({"LOGGING_ENDPOINT": "https://logging.example.org"}, "TRAINBOARD_LOGGING_ENDPOINT is not on this machine"),
    (
        {"MONITORING_ENDPOINT": "https://monitoring.example.org"},
        "TRAINBOARD_MONITORING_ENDPOINT is not on this machine",
    ),
    ({"STORAGE_ENDPOINT": "https://storage.example.org"}, "TRAINBOARD_STORAGE_ENDPOINT is not on this machine"),
    ({"DATABASE": {"HOST": "db.example.org"}}, "the database is on db.example.org"),
    ({"DATABASE": {"HOST": "/run/pg,10.0.0.5"}}, "the database is on 10.0.0.5"),
    ({"DATABASE": {"HOST": "", "OPTIONS": {"host": "10.0.0.5"}}}, "the database is on 10.0.0.5"),
    ({"DATABASE": {"HOST": "", "OPTIONS": {"service": "team"}}}, "the database is on the service team"),
]


@pytest.mark.parametrize(("changes", "why"), ELSEWHERE, ids=[why for _, why in ELSEWHERE])
def test_is_refused_when_the_settings_say_that_others_can(
    settings: object, changes: dict[str, Any], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = dict(changes)
    people.create("127.0.0.1")
    database = changes.pop("DATABASE", {})
    for name, value in changes.items():
        setattr(settings, name, value)
    for name, value in database.items():
        monkeypatch.setitem(settings.DATABASES["default"], name, value)  # type: ignore[attr-defined]

    with pytest.raises(people.NotLoopback, match=why):
        people.create("127.0.0.1")
    with pytest.raises(ImproperlyConfigured, match=rf"admin, approver, engineer, lead, stranger can sign in .*{why}"):
        known_password.refuse_start()


def shown_checks() -> list[CheckMessage]:
    """Return what `manage.py check` shows, database included: the settings silence a warning about SQLite."""
    return [message for message in run_checks(databases=["default"]) if not message.is_silenced()]


def test_of_a_rehearsal_stop_no_start() -> None:
    people.create("127.0.0.1")

    known_password.refuse_start()
    assert shown_checks() == []


def test_that_have_passwords_of_their_own_stop_no_start(settings: object) -> None:
    people.create("127.0.0.1")
    settings.SECURE = True  # type: ignore[attr-defined]

    assert people.close() == ["admin", "approver", "engineer", "lead", "stranger"]

    known_password.refuse_start()
    assert people.close() == []
    assert not any(user.has_usable_password() for user in User.objects.all())


def test_are_an_error_of_the_check_where_others_reach_the_site(settings: object) -> None:
    settings.VERTEX_ENDPOINT = ""  # type: ignore[attr-defined]
    people.create("127.0.0.1", endpoint="http://127.0.0.1:1")
    found = [(message.id, message.level) for message in shown_checks()]
    assert found == [("dashboard.W001", WARNING)], "`up` may choose its emulator"

    settings.SECURE = True  # type: ignore[attr-defined]
    found = [(message.id, message.level) for message in shown_checks()]
    assert found == [("dashboard.E001", ERROR)]
    assert run_checks() == [], "only where a database is checked"


def test_knows_whose_password_everybody_knows() -> None:
    people.create("127.0.0.1")
    engineer = User.objects.get(username="engineer")
    engineer.set_password("my own")
    engineer.save()

    assert known_password.people() == ["admin", "approver", "lead", "stranger"]


class TestTheCommand:
    def test_is_refused_while_nothing_runs(self, state: object) -> None:
        with pytest.raises(CommandError, match=r"`manage.py up` does not run"):
            call_command("demo")

    def test_is_refused_when_the_site_listens_elsewhere(self, state: object) -> None:
        with claim(state) as held:  # type: ignore[arg-type]
            held.write(host="0.0.0.0")

            with pytest.raises(CommandError, match="loopback only"):
                call_command("demo")

        assert not User.objects.exists()

    def test_creates_people_for_the_site_that_runs(self, state: object, capsys: pytest.CaptureFixture[str]) -> None:
        with claim(state) as held:  # type: ignore[arg-type]
            held.write(host="127.0.0.1")

            call_command("demo")

        assert capsys.readouterr().out == "Created: engineer, approver, lead, stranger, admin.\n"


class TestItsJobs:
    def test_are_requested_once_and_wait_only_where_a_person_is_to_look(
        self, state: object, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with claim(state) as held:  # type: ignore[arg-type]
            held.write(host="127.0.0.1", rehearsal=True)
            call_command("demo", "--jobs")
            call_command("demo", "--jobs")

        states = dict(Job.objects.values_list("display_name", "state"))
        assert states.pop("penguins-on-eight-a100") == "awaiting_approval"
        assert set(states.values()) == {"approved"}
        assert len(states) == len(jobs.EXAMPLES) - 1
        assert capsys.readouterr().out.endswith("The demo's jobs were already requested.\n")

    @pytest.mark.parametrize("example", jobs.EXAMPLES, ids=lambda each: each.name)
    def test_keep_every_rule(self, example: jobs.Example) -> None:
        assert not has_errors(check(example.submission("vision-research")))

    @pytest.mark.parametrize("told", [{}, {"rehearsal": False}])
    def test_are_refused_where_they_would_cost_money(self, state: object, told: dict[str, bool]) -> None:
        with claim(state) as held:  # type: ignore[arg-type]
            held.write(host="127.0.0.1", **told)

            with pytest.raises(CommandError, match="would cost money"):
                call_command("demo", "--jobs")

        assert not Job.objects.exists()

    def test_are_requested_by_nobody_else_when_their_people_are_gone(self, state: object) -> None:
        people.create("127.0.0.1")
        User.objects.filter(username="approver").update(is_active=False)
        with claim(state) as held:  # type: ignore[arg-type]
            held.write(host="127.0.0.1", rehearsal=True)

            with pytest.raises(CommandError, match="approver"):
                call_command("demo", "--jobs")

        assert not Job.objects.exists()

    def test_closes_accounts_also_while_nothing_runs(self, state: object, capsys: pytest.CaptureFixture[str]) -> None:
        people.create("127.0.0.1")

        call_command("demo", "--close")

        assert capsys.readouterr().out == "Cannot sign in any more: admin, approver, engineer, lead, stranger.\n"
        assert known_password.people() == []

    def test_believes_the_site_that_runs(self, state: object) -> None:
        with claim(state) as held:  # type: ignore[arg-type]
            held.write(host="127.0.0.1", reached=["TRAINBOARD_HTTPS is on"])

            with pytest.raises(CommandError, match="loopback only: TRAINBOARD_HTTPS is on"):
                call_command("demo")


class TestServingOthers:
    @pytest.fixture(autouse=True)
    def _any_free_port(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The usual one may be taken by a site that runs beside the tests."""
        monkeypatch.setenv("PORT", "0")

    def test_up_refuses_while_everybody_knows_a_password(self, state: object) -> None:
        people.create("127.0.0.1")

        with pytest.raises(CommandError, match="admin, approver, engineer, lead, stranger can sign in") as refusal:
            call_command("up", host="0.0.0.0", no_emulator=True)
        assert "manage.py changepassword NAME" in str(refusal.value)
        assert "manage.py demo --close" in str(refusal.value)

    @pytest.mark.parametrize("changes", [{"SECURE": True}, {"VERTEX_ENDPOINT": ""}], ids=str)
    def test_up_refuses_on_loopback_too(self, state: object, settings: object, changes: dict[str, object]) -> None:
        people.create("127.0.0.1")
        for name, value in changes.items():
            setattr(settings, name, value)

        with pytest.raises(CommandError, match="can sign in with the demo's password"):
            call_command("up", no_emulator=True)

    def test_up_refuses_to_put_the_emulator_before_others(self, state: object, settings: object) -> None:
        settings.VERTEX_ENDPOINT = ""  # type: ignore[attr-defined]
        with pytest.raises(CommandError, match="runs the commands of jobs on this machine"):
            call_command("up", host="0.0.0.0")
