"""Vertex AI training on loopback: the REST and gRPC that Google's clients speak, and jobs that really run.

The packages from top to bottom; none imports one above it (a contract in pyproject.toml):

    grpc                            the same over gRPC, where its packages are installed
    web                             HTTP: server, app, routes, the control plane
    methods                         the API's methods, one module per service
    emulator                        makes and connects the parts of one emulator
    pipelines, tuning               training pipelines and tuning jobs, which follow the jobs they have made
    creation                        checks of what clients send, and new records
    scenarios, replicas, capacity   scripts and faults; local processes; machines, quotas, persistent resources
    lifecycle                       the life of a custom job
    state                           records, logs and files
    protocol                        Google's data types, errors and filters

It shares no code with `jobs`: two independent readings of Google's reference. docs/emulator.md lists what it leaves
out.
"""
