"""Pages, one module each. A view checks access and loads rows, then makes one change or one read, and renders."""
