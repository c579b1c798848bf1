"""Shared helpers of tests: local servers, blocked network access, users, and a clock that tests move."""
