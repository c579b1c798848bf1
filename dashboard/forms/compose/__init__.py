"""The compose form: its parts, its initial values, and the submission made from it."""
