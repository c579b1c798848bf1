"""Drawing: values become text, marks and SVG. Nothing here decides or reads rows."""
