"""People and teams: members and their roles, what a team may use, and the log of every change."""
