"""The mesh as tools for agents: what a model is told it can do, what it may ask, and answers that it reads well."""

from recallmesh.tools.banks import BankChoice
from recallmesh.tools.tool import Ports, Progress, Reply, Tool
from recallmesh.tools.toolbox import Refusal, Toolbox

__all__ = ["BankChoice", "Ports", "Progress", "Refusal", "Reply", "Tool", "Toolbox"]
