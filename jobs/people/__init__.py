"""People and teams: members and roles, resources that a team may use, and the log of every change."""
