"""The life of a custom job: its events and its public state. No processes, no HTTP.

Every event is a due timer, the exit of a replica, or a request (submit, cancel, preempt, move). The record is saved
after each event, so that the job continues after the emulator was killed.
"""
