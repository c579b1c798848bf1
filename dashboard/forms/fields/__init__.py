"""Form fields that parse typed text, and fields with lists to choose from."""
