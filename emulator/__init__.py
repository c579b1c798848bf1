"""Vertex AI training on loopback: the REST surface that Google's clients speak, and jobs that really run.

Reads bottom to top, and no room knows one above it (a contract in pyproject.toml):

    web                             HTTP: server, app, routes, the control plane
    methods                         the API's methods, one module per service
    world                           everything together: one emulator
    creation, pipelines             new records; training pipelines, which follow what they made
    rehearsal                       stories, faults, and who plays a job
    tuning, replicas, capacity      studies and their trials; local processes; machines and quotas
    lifecycle                       the life of a custom job
    state                           what is kept
    protocol                        Google's words

It shares no code with `jobs`: two independent readings of Google's reference. docs/emulator.md says what it leaves out.
"""
