"""What is sent to Vertex AI: a create, a cancellation, a deletion. Each is claimed, budgeted, and safe to repeat."""
