"""What the mesh tells its operators: logs, metrics and spans."""
