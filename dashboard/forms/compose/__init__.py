"""The compose form: its parts, what it begins with, and the submission that it makes."""
