"""Starts one server per GPU, calls it good after it has answered, watches it, and leaves nothing behind."""
