"""Convert jobs as people write them into what the API accepts."""
