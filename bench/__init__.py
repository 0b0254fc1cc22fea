"""Quality and speed, always against something."""
