"""What a programme talks to a mesh by: one face for a mesh elsewhere and for one in the same process.

``recallmesh.core`` has the values: requests, answers, errors.
"""

from recallmesh.client.bank import BankClient
from recallmesh.client.blocking import Waiter, open_blocking
from recallmesh.client.client import Client
from recallmesh.client.progress import LoadProgress
from recallmesh.client.remote import Timeouts, open_client
from recallmesh.client.rows import rows
from recallmesh.core.deadline import within
from recallmesh.core.errors import MeshError
from recallmesh.core.retain import RetainItem
from recallmesh.core.tls import PUBLIC, Tls

__all__ = [
    "PUBLIC",
    "BankClient",
    "Client",
    "LoadProgress",
    "MeshError",
    "RetainItem",
    "Timeouts",
    "Tls",
    "Waiter",
    "open_blocking",
    "open_client",
    "rows",
    "within",
]
