"""Drawing: turn values into text, marks and SVG. Nothing here makes decisions or reads rows."""
