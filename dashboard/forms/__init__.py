"""Forms: fields become a spec or a filter. They save nothing."""
