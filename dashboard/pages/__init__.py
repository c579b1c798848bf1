"""Pages: one module each. A view loads with rights, does one verb or one read, and renders."""
