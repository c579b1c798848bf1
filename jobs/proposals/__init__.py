"""Changes that give power over money: proposed by one person, and applied when a second one accepts them."""

from jobs.proposals.decide import AlreadyProposed, acts_alone, confirm_account, decide, may_decide, propose
from jobs.proposals.looser import is_looser
from jobs.proposals.subjects import (
    accept_invitation,
    accept_invitation_as,
    propose_budget,
    propose_ceiling,
    propose_closing,
    propose_policy,
    propose_role,
)

__all__ = [
    "AlreadyProposed",
    "accept_invitation",
    "accept_invitation_as",
    "acts_alone",
    "confirm_account",
    "decide",
    "is_looser",
    "may_decide",
    "propose",
    "propose_budget",
    "propose_ceiling",
    "propose_closing",
    "propose_policy",
    "propose_role",
]
