"""Split notebooks, pages, scripts and programs into the parts that contain jobs."""
