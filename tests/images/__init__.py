"""The images, built by podman and run by it."""
