"""The data that a snapshot is made of, a module for each subject."""
