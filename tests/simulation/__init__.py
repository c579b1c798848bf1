"""A simulation of submission and cancellation with a database, workers and a Vertex AI that fail in every way.

Everything depends on one seed and runs in virtual time, in one thread. A worker is a greenlet that yields at every
database statement and every call, where it may wait, be killed, or continue after changes by others. The steps are the
real ones (`jobs.submission`). The store and Vertex AI are models that implement the same interfaces.

    python -m tests.simulation --seeds 1000         many seeds; prints seeds per minute
    python -m tests.simulation --seed 17            one seed, described in sentences
"""
