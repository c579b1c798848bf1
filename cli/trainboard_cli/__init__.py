"""A Python client and a command line for a Trainboard site: `from trainboard_cli import Client`."""

from trainboard_cli.client import Client
from trainboard_cli.errors import NotReached, Refused, TrainboardError

__all__ = ["Client", "NotReached", "Refused", "TrainboardError"]
__version__ = "0.1.0"
