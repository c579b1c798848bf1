"""Numbers with a point; dates are written by `dashboard.drawing.figures`."""

DECIMAL_SEPARATOR = "."
THOUSAND_SEPARATOR = ","
