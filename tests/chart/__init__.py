"""The Helm chart on a real control plane: its programmes are built from Go modules, its nodes are played by kwok."""
