"""Fields that read what people write, and lists to pick from."""
