"""What Vertex AI and its logs say, and how often they are asked; answers become events."""
