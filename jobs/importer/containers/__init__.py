"""Splits notebooks, pages, scripts and programs into the parts that hold jobs."""
