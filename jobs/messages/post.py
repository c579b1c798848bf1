"""Send one POST to an outside receiver: to a checked address, without redirects or proxies, and with time limits.

The connection goes to the IP address that was checked, so a later change of the name's address has no effect. TLS still
verifies the certificate for the name (urllib3's `server_hostname` and `assert_hostname`). Of the answer only the status
and headers are read, so a receiver can neither block a worker nor show its text here.
"""

from datetime import timedelta
from typing import Any

import requests
from django.conf import settings

from jobs.bounds import parse_digits
from jobs.messages.allowed_addresses import NotReachable, Resolve, Target, resolve_name, target_of
from jobs.vertex.deadline import BoundedAdapter, at_most

MAX_RETRY_DIGITS = 6
"""Limit for the seconds in a Retry-After header; a longer wait is ignored."""
MAX_SECONDS = 10.0
"""Limit for connecting, sending and the answer together."""
USER_AGENT = "Trainboard-Messages/1"


class SendFailed(Exception):
    """A message was not accepted; the text is for the team's leads and contains nothing of the answer.

    `is_down`: the whole receiver does not answer, so further messages would fail too. `retry_after`: the pause that it
    asked for. `is_final`: another try would be useless.
    """

    def __init__(
        self, words: str, *, is_down: bool = False, is_final: bool = False, retry_after: timedelta | None = None
    ) -> None:
        super().__init__(words)
        self.is_down, self.is_final, self.retry_after = is_down, is_final, retry_after


class _ToAddress(BoundedAdapter):
    """Connects to an IP address and verifies the certificate for the name."""

    def __init__(self, target: Target) -> None:
        self._names = {"server_hostname": target.name, "assert_hostname": target.name} if target.is_secure else {}
        super().__init__()

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        """Create the pools with the name for TLS besides the address."""
        super().init_poolmanager(*args, **kwargs, **self._names)


def post(
    url: str,
    body: bytes,
    headers: dict[str, str],
    *,
    resolve: Resolve = resolve_name,
    seconds: float = MAX_SECONDS,
    verify: bool | str = True,
) -> None:
    """Send a body. Raise SendFailed unless the receiver answers with 2xx.

    `verify` is a file with certificates of authorities, in place of the public ones.
    """
    try:
        target = target_of(url, allows_loopback=settings.MESSAGES_ALLOW_LOOPBACK, resolve=resolve)
    except NotReachable as refusal:
        raise SendFailed(str(refusal), is_down=True) from None
    answer = _answer(target, body, headers, seconds, verify)
    if 200 <= answer.status_code < 300:
        return
    if 300 <= answer.status_code < 400:
        raise SendFailed(
            f"The server answered with a redirect (status {answer.status_code}), which Trainboard does not follow."
        )
    is_down = answer.status_code == 429 or answer.status_code >= 500
    words = f"The server answered with status {answer.status_code}."
    asked = answer.headers.get("Retry-After", "")  # in seconds; a date is ignored
    seconds_asked = parse_digits(asked, MAX_RETRY_DIGITS)
    pause = None if seconds_asked is None else timedelta(seconds=seconds_asked)
    raise SendFailed(words, is_down=is_down, retry_after=pause)


def _answer(
    target: Target, body: bytes, headers: dict[str, str], seconds: float, verify: bool | str
) -> requests.Response:
    """Send the request and return the answer, whose body is not read."""
    with requests.Session() as session, at_most(seconds):
        session.trust_env = False  # ignore proxies and passwords in the worker's environment
        session.mount("https://", _ToAddress(target))
        session.mount("http://", _ToAddress(target))
        sent = {"Content-Type": "application/json; charset=utf-8", "User-Agent": USER_AGENT, "Host": target.host}
        try:
            with session.post(
                target.url,
                data=body,
                headers=sent | headers,
                timeout=seconds,
                allow_redirects=False,
                stream=True,
                verify=verify,
            ) as answer:
                return answer
        except requests.exceptions.SSLError:
            raise SendFailed("The certificate of the server is not valid for its name.", is_down=True) from None
        except requests.exceptions.Timeout:
            raise SendFailed(f"The server did not answer within {seconds:g} s.", is_down=True) from None
        except (requests.exceptions.RequestException, OSError) as error:
            late = f"The server did not answer within {seconds:g} s."
            words = late if _is_late(error) else "The server could not be reached or ended the connection."
            raise SendFailed(words, is_down=True) from None


def _is_late(error: BaseException) -> bool:
    """Return whether a timeout is among the causes of an error."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, TimeoutError) or "timed out" in str(seen):
            return True
        seen = seen.__cause__ or seen.__context__
    return False
