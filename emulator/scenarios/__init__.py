"""Jobs that follow a story (story_rules, story_runner) and requests that fail on demand (faults)."""
