"""What is known of the servers: their flags per version, and how a launch line is read."""
