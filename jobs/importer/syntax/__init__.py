"""Parse JSON, YAML and shell words to values with lines."""
