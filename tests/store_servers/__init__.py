"""The database servers that tests run against, from package registries and without containers, on loopback."""
