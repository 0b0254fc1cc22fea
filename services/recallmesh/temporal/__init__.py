"""The temporal arm: relevant memories of a window of time, spread over it."""
