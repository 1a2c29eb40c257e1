"""The smoke test of an image or environment: steps, what became of each, one verdict; and the CI files that call it."""
