"""Before Vertex AI hears of it: what people ask for, allow and keep."""
