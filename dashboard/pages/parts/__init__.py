"""Building blocks of pages: rows, reasons, cards and responses. No module here has an address of its own."""
