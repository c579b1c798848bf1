"""The life of a custom job: what happens when, and how the public state changes. No processes, no HTTP.

Everything that happens is a timer that is due, a replica that has ended, or a request (submit, cancel, preempt, move);
after each the record is saved, so a life goes on after the emulator was killed.
"""
