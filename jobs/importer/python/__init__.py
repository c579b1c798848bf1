"""What a Python program's values are, as far as they are known without running it."""
