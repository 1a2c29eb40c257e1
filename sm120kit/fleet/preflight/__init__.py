"""What would fail after minutes of loading, said before anything starts."""
