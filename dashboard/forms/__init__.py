"""Forms: their fields become a spec or a filter. They do not save anything."""
