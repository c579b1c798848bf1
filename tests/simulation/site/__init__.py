"""A simulation of the whole site: the real code over a real database, in virtual time.

`DatabaseStore`, `transitions`, `record`, the sweep with all of its stages, requests, approvals, schedules, budgets and
messages run as they do in production, with SQLite or PostgreSQL below them. Imitated are only time, the network with
Google and the receivers of messages behind it, Celery's queue, and crashes.

Each process of the site is a greenlet with its own connection. It yields at every statement, every commit and every
call, where it may wait, lose its connection, be killed, or continue after changes by others. `kernel` decides who runs,
`databases` has the connections, `google` and `receivers` are the world outside, `people` act, and `judge` compares the
database with what happened outside.
"""
