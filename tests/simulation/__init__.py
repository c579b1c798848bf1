"""The submission and cancellation code against a database, workers and a Vertex AI that fail in every way.

Everything is driven by one seed and runs in virtual time, in one thread: a worker is a greenlet that gives way at every
statement of the database and every call, where it may wait, be killed, or find the world changed. The steps are the
real ones (`jobs.submission`); the store and Vertex AI are models behind the same ports.

    python -m tests.simulation --seeds 1000         many seeds; prints seeds a minute
    python -m tests.simulation --seed 17            one seed, told in sentences
"""
