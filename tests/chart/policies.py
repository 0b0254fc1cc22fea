"""Who may reach whom by the NetworkPolicies of a cluster, as their documentation says; kwok's nodes enforce none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from typing import Any

from chart.kubernetes import Object

INGRESS = "Ingress"
EGRESS = "Egress"


@dataclass(frozen=True, slots=True)
class Outside:
    """Somebody who is no pod, at an address."""

    address: str


Peer = Object | Outside
"""A pod, or somebody outside."""


@dataclass(frozen=True, slots=True)
class Network:
    """The policies of a cluster, and the labels of its namespaces."""

    policies: Sequence[Object]
    namespaces: Mapping[str, Mapping[str, str]]

    def lets(self, source: Peer, target: Peer, port: int) -> bool:
        """Whether a TCP connection to a port of the target's comes about; both sides must let it."""
        return self._side(source, target, target, port, EGRESS) and self._side(target, source, target, port, INGRESS)

    def selecting(self, pod: Object, direction: str) -> list[Object]:
        """Return the policies that bound what a pod sends (Egress) or is sent (Ingress); none: nothing does."""
        return [policy for policy in self.policies if self._selects(policy, pod) and direction in _directions(policy)]

    def _side(self, own: Peer, other: Peer, target: Peer, port: int, direction: str) -> bool:
        if isinstance(own, Outside):
            return True
        policies = self.selecting(own, direction)
        rules = (rule for policy in policies for rule in _rules(policy, direction))
        return not policies or any(
            self._names(rule, own, other, direction) and _opens(rule, target, port) for rule in rules
        )

    def _selects(self, policy: Object, pod: Object) -> bool:
        same = policy["metadata"]["namespace"] == pod["metadata"]["namespace"]
        return same and matches(policy["spec"].get("podSelector", {}), pod["metadata"].get("labels", {}))

    def _names(self, rule: Mapping[str, Any], own: Object, other: Peer, direction: str) -> bool:
        peers = rule.get("from" if direction == INGRESS else "to")
        return not peers or any(self._is(peer, own, other) for peer in peers)

    def _is(self, peer: Mapping[str, Any], own: Object, other: Peer) -> bool:
        if "ipBlock" in peer:
            return isinstance(other, Outside) and _within(peer["ipBlock"], other.address)
        if isinstance(other, Outside):
            return False
        namespace = other["metadata"]["namespace"]
        if "namespaceSelector" in peer:
            there = matches(peer["namespaceSelector"], self.namespaces[namespace])
        else:
            there = namespace == own["metadata"]["namespace"]
        return there and matches(peer.get("podSelector", {}), other["metadata"].get("labels", {}))


def matches(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether a label selector takes these labels; an empty one takes all."""
    equal = all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items())
    return equal and all(_holds(one, labels) for one in selector.get("matchExpressions", ()))


def _holds(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, values = expression["key"], expression.get("values", ())
    match expression["operator"]:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
    raise ValueError(expression["operator"])


def _directions(policy: Object) -> Sequence[str]:
    spec = policy["spec"]
    return spec.get("policyTypes") or (INGRESS, *((EGRESS,) if "egress" in spec else ()))


def _rules(policy: Object, direction: str) -> Sequence[Mapping[str, Any]]:
    return policy["spec"].get(direction.lower()) or ()


def _opens(rule: Mapping[str, Any], target: Peer, port: int) -> bool:
    ports = rule.get("ports")
    return not ports or any(_is_port(one, target, port) for one in ports if one.get("protocol", "TCP") == "TCP")


def _is_port(told: Mapping[str, Any], target: Peer, port: int) -> bool:
    first = told.get("port")
    if first is None:
        return True
    if isinstance(first, str):
        return not isinstance(target, Outside) and port in _named(target, first)
    return first <= port <= told.get("endPort", first)


def _named(pod: Object, name: str) -> set[int]:
    return {
        one["containerPort"]
        for container in pod["spec"]["containers"]
        for one in container.get("ports", ())
        if one.get("name") == name
    }


def _within(block: Mapping[str, Any], address: str) -> bool:
    asked = ip_address(address)
    return asked in ip_network(block["cidr"]) and not any(asked in ip_network(one) for one in block.get("except") or ())
