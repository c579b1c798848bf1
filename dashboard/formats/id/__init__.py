"""Indonesian."""
