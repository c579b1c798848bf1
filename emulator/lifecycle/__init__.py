"""The life of a custom job: what happens when, and what it does to the public state. No processes, no HTTP.

Everything that happens is a timer that is due, a replica that has ended, or a verb (submit, cancel, preempt, move);
after each the record is saved, so a life goes on after the emulator was killed.
"""
