"""What is sent to Vertex AI: a create, a cancellation. Each is claimed, budgeted, and safe to repeat."""
