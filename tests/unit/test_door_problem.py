"""Every error of the mesh is a problem with a status, and says no more than it may."""

import json
from datetime import timedelta

import grpc
import pytest

from recallmesh.core.errors import (
    BankNotFound,
    DefenseBlocked,
    FieldViolation,
    InternalFault,
    InvalidArgument,
    MeshError,
    Overloaded,
    all_errors,
)
from recallmesh.door.problem import STATUSES, problem_of, problem_of_http


def test_a_problem_has_what_the_standard_names_and_what_a_program_needs():
    problem = problem_of(BankNotFound("support"), "r-1")
    assert (problem.status, problem.headers) == (404, {})
    assert json.loads(problem.written()) == {
        "type": "urn:recallmesh:error:BANK_NOT_FOUND",
        "title": "Bank not found",
        "status": 404,
        "detail": "bank 'support' not found",
        "code": "NOT_FOUND",
        "reason": "BANK_NOT_FOUND",
        "requestId": "r-1",
        "metadata": {"bank": "support"},
    }


@pytest.mark.parametrize("error", all_errors(), ids=lambda error: error.__name__)
def test_every_error_has_a_status_of_its_own(error):
    raised = error.__new__(error)
    MeshError.__init__(raised, "said", metadata={"request_id": "r-1"})
    raised.violations, raised.retry_after = (), timedelta(seconds=1)
    problem = problem_of(raised, "r-1")
    assert (problem.status == 500) == (error.code == "INTERNAL")
    assert problem.body["reason"] == error.reason
    assert "metadata" not in problem.body


def test_the_statuses_are_of_codes_that_there_are():
    assert set(STATUSES) <= {code.name for code in grpc.StatusCode}
    assert {code.name for code in grpc.StatusCode} - set(STATUSES) == {"OK", "UNKNOWN", "INTERNAL", "DATA_LOSS"}


def test_violations_name_fields_and_items():
    violations = (FieldViolation("items[0].time", "is naive"),)
    for error in (InvalidArgument(*violations), DefenseBlocked(*violations)):
        assert problem_of(error, "r").body["violations"] == [{"field": "items[0].time", "description": "is naive"}]


def test_a_bug_says_nothing_of_insides():
    body = problem_of(InternalFault("/home/x/ledger.db is locked", metadata={"path": "/home/x"}), "r-1").body
    assert (body["detail"], body["requestId"], "metadata" in body) == ("internal error", "r-1", False)


@pytest.mark.parametrize(("seconds", "whole", "exact"), [(0.5, "1", "0.5s"), (2, "2", "2s"), (61.25, "62", "61.25s")])
def test_who_is_turned_away_is_told_when_to_come_again(seconds, whole, exact):
    problem = problem_of(Overloaded("too many calls", retry_after=timedelta(seconds=seconds)), "r")
    assert (problem.status, problem.headers, problem.body["retryDelay"]) == (429, {"retry-after": whole}, exact)


def test_what_is_wrong_with_a_request_of_http_is_a_problem_without_a_reason():
    problem = problem_of_http(405, "this call is asked by POST", "r-1", {"allow": "POST"})
    assert (problem.status, problem.headers["allow"]) == (405, "POST")
    assert problem.body == {
        "type": "about:blank",
        "title": "Method Not Allowed",
        "status": 405,
        "detail": "this call is asked by POST",
        "requestId": "r-1",
    }
