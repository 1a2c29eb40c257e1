"""What a launch is asked for: by options, by a fleet.toml, and as a unit of systemd."""
