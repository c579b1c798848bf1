"""Text to values with lines: JSON, YAML and the words of a shell."""
