"""Texts: decoding, recognising, YAML and JSON with their lines, and what is made of any of them: a reading."""
