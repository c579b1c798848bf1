"""Jobs that follow a script (script_rules, script_runner) and requests that fail on demand (faults)."""
