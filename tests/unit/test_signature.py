"""Signatures are those of Standard Webhooks."""

from datetime import UTC, datetime

from recallmesh.core.signature import key_of, signed_headers

GIVEN = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
AT = datetime.fromtimestamp(1614265330, UTC)


def test_the_signature_is_the_example_of_the_specification():
    headers = signed_headers(GIVEN, "msg_p5jXN8AQM9LWM0D4loKWxJek", AT, b'{"test": 2432232314}')
    assert headers == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


def test_another_secret_id_time_or_body_has_another_signature():
    given = (GIVEN, "e1", AT, b"body")
    others = [
        ("whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "e1", AT, b"body"),
        (GIVEN, "e2", AT, b"body"),
        (GIVEN, "e1", AT.replace(year=2022), b"body"),
        (GIVEN, "e1", AT, b"Body"),
    ]
    signatures = {signed_headers(*one)["webhook-signature"] for one in (given, *others)}
    assert len(signatures) == 5


def test_a_secret_is_the_key_itself_or_holds_it_in_base64():
    assert key_of("sixteen bytes ok") == b"sixteen bytes ok"
    assert key_of("whsec_c2l4dGVlbg==") == b"sixteen"
    assert key_of("whsec_not base64!") is None
