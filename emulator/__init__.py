"""Vertex AI training on loopback: the REST and gRPC API that Google's clients use, with jobs that really run.

The packages from top to bottom. None imports one above it (a contract in pyproject.toml):

    grpc                            the same over gRPC, if its packages are installed
    web                             HTTP: server, app, routes, the control plane
    methods                         the API's methods, one module per service
    emulator                        creates and connects the parts of one emulator
    pipelines, tuning               training pipelines and tuning jobs, which follow the jobs that they create
    creation                        checks of requests, and new records
    scenarios, replicas, capacity   scripts and faults; local processes; machines, quotas, persistent resources
    lifecycle                       the life of a custom job
    state                           records, logs and files
    protocol                        Google's data types, errors and filters

The emulator shares no code with `jobs`, so that there are two independent implementations of Google's reference.
docs/emulator.md lists what it does not emulate.
"""
