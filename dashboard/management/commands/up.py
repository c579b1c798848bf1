"""`manage.py up`: run the whole site on this machine until Ctrl-C."""

import argparse
from contextlib import ExitStack
from functools import partial
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError, connections

from dashboard import env, private, rehearsal
from dashboard.access import known_password
from dashboard.management import processes
from dashboard.management.demo import people
from dashboard.management.demo.machines import FirstResource
from dashboard.management.supervisor import plan, ports, prepare
from dashboard.management.supervisor.child import Part
from dashboard.management.supervisor.claim import Claimed, claim
from dashboard.management.supervisor.console import Console
from dashboard.management.supervisor.keeper import Keeper
from dashboard.management.supervisor.parent import Parent
from dashboard.management.supervisor.welcome import Welcome
from emulator import grpc

NAMES = ["redis", "emulator", "web", "worker", "sender", "messenger", "beat"]
LEAVING_SECONDS = 5.0
"""How long the processes of a killed `up` may take to end and free their port."""


class Command(BaseCommand):
    """Runs web, worker, beat, Redis and the emulator as child processes and keeps them running."""

    help = "Run the whole site on this machine: web, workers and beat, and if needed Redis and a Vertex AI emulator."
    requires_system_checks = []

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options. PORT and others come from the environment (README)."""
        parser.add_argument(
            "--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1, this machine only)"
        )
        parser.add_argument("--no-emulator", action="store_true", help="use the real Vertex AI instead of the emulator")
        parser.add_argument("--no-demo", action="store_true", help="create no demo users")
        parser.add_argument("--follow", type=int, metavar="PID", help="stop when this parent process ends")

    def handle(self, *_: Any, **options: Any) -> None:
        """Claim the state folder, prepare the site and run it.

        Raise CommandError with the reason if that is not possible.
        """
        private.umask()
        keeper = Keeper(Console(NAMES))
        if options["follow"]:
            keeper.watchers.append(Parent(options["follow"]))
        emulated = not options["no_emulator"] and not settings.VERTEX_ENDPOINT
        try:
            with claim(settings.STATE_DIR) as held, ExitStack() as stack:
                site = _site(str(options["host"]), wait=LEAVING_SECONDS if held.left else 0)
                reached = rehearsal.reasons_against(host=site.host, endpoint=rehearsal.EMULATOR if emulated else None)
                lines = _prepare(site, keeper.console, reached, demo=not options["no_demo"], emulated=emulated)
                keeper.layers = _layers(site, stack, emulated=emulated)
                facts = {"address": site.address, "host": site.host, "rehearsal": emulated, "reached": reached}
                held.write(**facts)
                keeper.on_stop = partial(held.write, **facts, stopping=True)
                # Django answers 400 to a Host header that is not in this list. A pattern cannot be sent as a name.
                names = [name for name in settings.ALLOWED_HOSTS if not name.startswith(("*", "."))]
                keeper.watchers.append(Welcome(site.host, site.port, names[0] if names else "localhost", lines))
                if emulated and not options["no_demo"] and not plan.emulator_state(site).exists():
                    keeper.watchers.append(FirstResource(site.state / "emulator-port"))
                connections.close_all()
                keeper.console.log(f"starting in {site.state}")
                keeper.run()
        except Claimed as other:
            where = f"at {other.owner['address']}" if "address" in other.owner else "and is just starting"
            raise CommandError(
                f"Trainboard already runs on the data in {settings.STATE_DIR}, {where} (process "
                f"{other.owner.get('pid', 'unknown')}). Stop it, or choose another folder with TRAINBOARD_STATE."
            ) from None
        except KeyboardInterrupt:
            raise CommandError("stopped before anything was started", returncode=130) from None


def _site(host: str, *, wait: float) -> plan.Site:
    """Choose the port. Raise CommandError if it is taken, or if a file in the folder would be imported."""
    processes.check_folder(settings.WORK_DIR)
    port = env.whole("PORT", default=8000, least=0, most=65535) or ports.choose(host)
    if not ports.becomes_free(host, port, seconds=wait):
        command = "trainboard-server up" if settings.IS_INSTALLED else "make up"
        raise CommandError(
            f"Another program uses port {port} on {host}. Choose another port: PORT={ports.choose(host)} {command}"
        )
    inherited = env.inherited(PYTHONUNBUFFERED="1")
    return plan.Site(settings.WORK_DIR, settings.STATE_DIR, host, port, inherited)


def _prepare(site: plan.Site, console: Console, reached: list[str], *, demo: bool, emulated: bool) -> list[str]:
    """Bring tables, static files and people up to date. Return the lines to print when the site is up.

    `reached` are reasons why others may reach the site. Without any, it is a rehearsal for people of this machine only.
    """
    if emulated and not rehearsal.is_loopback(site.host):
        raise CommandError(
            "The emulator runs the commands of jobs on this machine, so it only serves a site on loopback. "
            "Omit --host, add --no-emulator, or set TRAINBOARD_VERTEX_ENDPOINT."
        )
    try:
        prepare.database(console.log)
    except OperationalError as failure:
        raise CommandError(f"The database does not respond: {failure}") from None
    prepare.static_files(console.log)
    if refusal := known_password.why_not_start(reached):
        raise CommandError(refusal)
    lines = [f"Trainboard is at {site.address}"]
    if demo and not reached:
        people.create(site.host, endpoint=rehearsal.EMULATOR if emulated else None)
        lines.append(f"sign in as {', '.join(people.SIGN_INS)}; the password is {people.PASSWORD}")
    elif demo:
        lines.append(f"no demo users were created: {'; '.join(reached)}. Use manage.py createsuperuser")
    if emulated and reached:
        lines.append(
            "warning: everybody who can sign in can run commands on this machine as you, because the emulator runs jobs"
        )
    return [*lines, "Ctrl-C stops everything; the data is kept"]


def _layers(site: plan.Site, stack: ExitStack, *, emulated: bool) -> list[list[Part]]:
    """Return the processes to run, servers first. The environment of the others contains the servers' addresses."""
    servers: list[Part] = []
    variables = {"TRAINBOARD_URL": env.text("TRAINBOARD_URL") or site.address}
    if not env.text("REDIS_URL"):
        folder = plan.socket_folder(site.state)
        stack.callback(plan.forget_socket_folder, site.state, folder)
        servers.append(plan.redis(site, folder / "redis"))
        variables["REDIS_URL"] = f"redis+socket://{folder / 'redis'}"
    if emulated:
        port = ports.remembered(site.state / "emulator-port", "127.0.0.1")
        speed = env.number("TRAINBOARD_EMULATOR_SPEED", default=30, least=1)
        grpc_port = _grpc_port(site, besides=port)
        restarted = env.text("TRAINBOARD_EMULATOR_START_AFTER_RESTART", "first")
        servers.append(plan.emulator(site, port=port, grpc_port=grpc_port, speed=speed, start_after_restart=restarted))
        variables |= {"TRAINBOARD_VERTEX_ENDPOINT": f"http://127.0.0.1:{port}", "TRAINBOARD_REHEARSAL": "1"}
        variables["TRAINBOARD_VERTEX_TOKEN_FILE"] = str(plan.emulator_state(site) / plan.CREDENTIAL)
        # Loopback has no quota on reads, and people watch a rehearsal closely.
        for name in ("TRAINBOARD_POLL_SECONDS", "TRAINBOARD_SWEEP_SECONDS"):
            variables[name] = env.text(name) or "1"
        variables |= {name: env.text(name) or rate for name, rate in plan.REHEARSAL_RATES.items()}
    site = site.with_environment(variables)
    return [servers, [plan.web(site), *plan.workers(site), plan.beat(site)]]


def _grpc_port(site: plan.Site, *, besides: int) -> int | None:
    """Return the port of the emulator's gRPC server, None if `make grpc` has not installed its requirements."""
    if not grpc.is_installed():
        return None
    return ports.remembered(site.state / "emulator-grpc-port", "127.0.0.1", besides=besides)
