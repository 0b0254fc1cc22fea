"""What tests of the chart have in common."""

import pytest
from rendering import find_helm


@pytest.fixture(scope="session")
def helm():
    """Helm, with the chart."""
    return find_helm()
