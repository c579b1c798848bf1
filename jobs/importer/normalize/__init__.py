"""What people write, brought to what the API takes."""
