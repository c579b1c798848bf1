"""Find the values of a Python program without running it."""
