"""Jobs written as text, in each format."""
