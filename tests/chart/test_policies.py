"""What NetworkPolicies let through, by examples whose answers their documentation gives."""

import pytest

from chart.policies import Network, Outside

NAMESPACES = {"mesh": {"team": "memory"}, "other": {"team": "search"}}


def pod(name, namespace="mesh", **ports):
    told = [{"name": port, "containerPort": number} for port, number in ports.items()]
    return {"metadata": {"namespace": namespace, "labels": {"app": name}}, "spec": {"containers": [{"ports": told}]}}


def policy(app, **spec):
    selector = {"matchLabels": {"app": app}} if app else {}
    return {"metadata": {"namespace": "mesh"}, "spec": {"podSelector": selector, **spec}}


def only(app):
    return {"podSelector": {"matchLabels": {"app": app}}}


A, B, C = pod("a"), pod("b", grpc=7070, metrics=9090), pod("c")
STRANGER = pod("a", "other")


def lets(policies, source, target, port=7070):
    return Network(policies, NAMESPACES).lets(source, target, port)


def test_nothing_is_bound_without_a_policy_and_everything_by_an_empty_one():
    assert lets([], A, B)
    assert lets([policy("c", policyTypes=["Ingress"])], A, B)
    assert not lets([policy("b", policyTypes=["Ingress"])], A, B)
    assert not lets([policy("", policyTypes=["Egress"])], A, B)
    assert lets([policy("", policyTypes=["Egress"], egress=[{}])], A, B)


def test_both_sides_have_to_let_it():
    into_b = policy("b", policyTypes=["Ingress"], ingress=[{"from": [only("a")]}])
    assert lets([into_b], A, B)
    assert not lets([into_b], C, B)
    out_of_a = policy("a", policyTypes=["Egress"], egress=[{"to": [only("c")]}])
    assert not lets([into_b, out_of_a], A, B)
    assert lets([into_b, out_of_a], A, C)


def test_what_any_policy_lets_is_let():
    closed, opened = policy("b", policyTypes=["Ingress"]), policy("b", policyTypes=["Ingress"], ingress=[{}])
    assert lets([closed, opened], A, B)


@pytest.mark.parametrize(
    ("peer", "reaching"),
    [
        ({"podSelector": {}}, [A]),
        ({"namespaceSelector": {}}, [A, STRANGER]),
        ({"namespaceSelector": {"matchLabels": {"team": "search"}}}, [STRANGER]),
        ({"namespaceSelector": {"matchLabels": {"team": "search"}}, **only("c")}, []),
        ({"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}, [Outside("10.2.0.1")]),
    ],
)
def test_a_peer_is_of_the_same_namespace_unless_it_says_which_and_no_pod_is_an_address(peer, reaching):
    policies = [policy("b", policyTypes=["Ingress"], ingress=[{"from": [peer]}])]
    asking = [A, STRANGER, Outside("10.1.0.1"), Outside("10.2.0.1")]
    assert [one for one in asking if lets(policies, one, B)] == reaching


@pytest.mark.parametrize(
    ("ports", "opened"),
    [
        ([{"port": 7070}], {7070}),
        ([{"port": "metrics"}], {9090}),
        ([{"port": 7000, "endPort": 8000}], {7070, 8000}),
        ([{"port": 7070, "protocol": "UDP"}], set()),
        ([], {7070, 8000, 9090}),
    ],
)
def test_a_port_is_a_number_a_name_of_the_targets_or_a_range_of_tcp(ports, opened):
    policies = [policy("b", policyTypes=["Ingress"], ingress=[{"ports": ports}])]
    assert {port for port in (7070, 8000, 9090) if lets(policies, A, B, port)} == opened


@pytest.mark.parametrize(
    ("expression", "reaching"),
    [
        ({"operator": "In", "values": ["a", "c"]}, ["a", "c"]),
        ({"operator": "NotIn", "values": ["a"]}, ["b", "c"]),
        ({"operator": "Exists"}, ["a", "b", "c"]),
        ({"operator": "DoesNotExist"}, []),
    ],
)
def test_a_selector_has_expressions_too(expression, reaching):
    peer = {"podSelector": {"matchExpressions": [{"key": "app", **expression}]}}
    policies = [policy("b", policyTypes=["Ingress"], ingress=[{"from": [peer]}])]
    assert [one["metadata"]["labels"]["app"] for one in (A, B, C) if lets(policies, one, B)] == reaching


def test_the_way_back_is_bound_where_egress_is_told_or_named():
    assert not lets([policy("a", egress=[{"to": [only("c")]}])], A, B)
    assert lets([policy("a", ingress=[])], A, B)
