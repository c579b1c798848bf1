"""Trainboard from a terminal, and a thin Python client: `from trainboard_cli import Client`."""

from trainboard_cli.client import Client
from trainboard_cli.errors import NotReached, Refused, TrainboardError

__all__ = ["Client", "NotReached", "Refused", "TrainboardError"]
