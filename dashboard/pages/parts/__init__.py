"""What pages are put together from: rows, reasons, cards, answers. No module here has an address of its own."""
