"""Vertex AI training on loopback: the REST surface that Google's clients speak, and jobs that really run.

Reads bottom to top: data and words (schema, clock, errors, filters) -> rows (store, logs) -> one job's life
(lifecycle) -> processes (replicas) or stories -> world (everything together) -> methods and control -> HTTP.
It shares no code with `jobs`: two independent readings of Google's reference. docs/emulator.md says what it leaves out.
"""
