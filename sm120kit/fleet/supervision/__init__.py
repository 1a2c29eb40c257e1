"""The process that starts, verifies, watches and ends the servers of one fleet."""
