# ruff: noqa: ASYNC110 - what is waited for is on the other side of a wire
"""Tokens are good if their issuer signed them, for us, for now; whatever else they say, they are nobody's."""

import asyncio
import base64
import hashlib
import hmac
import json
import threading
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from recallmesh.core.errors import InvalidArgument, StoreUnavailable, Unauthenticated
from recallmesh.core.principal import Principal, Right
from recallmesh.identity.jwks import check_url, open_jwks
from recallmesh.identity.opening import open_authenticator
from recallmesh.identity.pyjwt import KEPT, TOKEN_CHARS, Expected, Tokens, read_jwks
from recallmesh.identity.settings import AuthSettings

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
ISSUER, AUDIENCE = "https://id.example.com/", "recallmesh"
EXPECTED = Expected(ISSUER, AUDIENCE, "tenant", "scope", "banks")
RSA = rsa.generate_private_key(65537, 2048)
OTHER = rsa.generate_private_key(65537, 2048)
CURVE = ec.generate_private_key(ec.SECP256R1())
EDWARDS = ed25519.Ed25519PrivateKey.generate()


def jwk(private, kid, algorithm, **more):
    maker = {"RS256": jwt.algorithms.RSAAlgorithm, "ES256": jwt.algorithms.ECAlgorithm}.get(
        algorithm, jwt.algorithms.OKPAlgorithm
    )
    return {**maker.to_jwk(private.public_key(), as_dict=True), "kid": kid, "alg": algorithm, **more}


def key_set(*rows) -> bytes:
    return json.dumps({"keys": list(rows)}).encode()


FIRST = jwk(RSA, "first", "RS256")
ALL = key_set(FIRST, jwk(CURVE, "curve", "ES256"), jwk(EDWARDS, "ed", "EdDSA"))
CLAIMS = {
    "iss": ISSUER,
    "aud": [AUDIENCE, "another"],
    "sub": "ida",
    "tenant": "acme",
    "scope": "openid recall retain",
    "exp": int(NOW.timestamp()) + 600,
}


def token(claims=None, key=RSA, algorithm="RS256", kid="first", **header) -> str:
    return jwt.encode(CLAIMS | (claims or {}), key, algorithm, {"kid": kid, **header})


class Held:
    """Keys that a test changes."""

    def __init__(self, *sets):
        self.sets = list(sets)
        self.value = self.sets.pop(0)
        self.renewed = 0

    async def renew(self):
        self.renewed += 1
        self.value = self.sets.pop(0) if self.sets else self.value


def tokens(*sets, now=NOW):
    return Tokens(Held(*(sets or (read_jwks(ALL),))), EXPECTED, lambda: now)


@pytest.mark.parametrize(
    ("key", "algorithm", "kid"), [(RSA, "RS256", "first"), (CURVE, "ES256", "curve"), (EDWARDS, "EdDSA", "ed")]
)
async def test_a_token_says_whose_it_is_and_what_it_is_good_for(key, algorithm, kid):
    found = await tokens().authenticate(token(None, key, algorithm, kid))
    assert found == Principal(
        "token:ida", "acme", frozenset({Right.RECALL, Right.RETAIN}), None, datetime.fromtimestamp(CLAIMS["exp"], UTC)
    )


@pytest.mark.parametrize(
    ("claims", "rights", "banks"),
    [
        ({"scope": ["admin", "mesh"], "banks": ["diary-*"]}, {Right.ADMIN}, ("diary-*",)),
        ({"scope": "", "banks": "a b-*"}, set(), ("a", "b-*")),
        ({"scope": "Recall recall:all", "banks": []}, set(), ()),
    ],
)
async def test_rights_and_banks_are_words_of_claims_and_no_token_is_the_meshs(claims, rights, banks):
    found = await tokens().authenticate(token(claims))
    assert (found.rights, found.banks) == (rights, banks)


async def test_a_name_that_could_spoil_a_log_is_left_out():
    assert (await tokens().authenticate(token({"sub": "a\nb"}))).name == "token:"


def forged_with_the_public_key() -> str:
    """Sign with the public key as if it were a shared secret, which some libraries would take."""
    pem = RSA.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    parts = [{"alg": "HS256", "typ": "JWT", "kid": "first"}, CLAIMS]
    said = b".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in parts)
    signature = hmac.new(pem, said, hashlib.sha256).digest()
    return (said + b"." + base64.urlsafe_b64encode(signature).rstrip(b"=")).decode()


def unsigned(algorithm: str) -> str:
    parts = [{"alg": algorithm, "kid": "first"}, CLAIMS]
    return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts) + "."


WRONG = {
    "of another issuer": token({"iss": "https://evil.example.com/"}),
    "for another audience": token({"aud": "another"}),
    "for no audience": jwt.encode({k: v for k, v in CLAIMS.items() if k != "aud"}, RSA, "RS256", {"kid": "first"}),
    "of no issuer": jwt.encode({k: v for k, v in CLAIMS.items() if k != "iss"}, RSA, "RS256", {"kid": "first"}),
    "without an end": jwt.encode({k: v for k, v in CLAIMS.items() if k != "exp"}, RSA, "RS256", {"kid": "first"}),
    "expired": token({"exp": int(NOW.timestamp()) - 30}),
    "not good yet": token({"nbf": int(NOW.timestamp()) + 31}),
    "with an end that is none": token({"exp": 1e300}),
    "of no tenant": token({"tenant": ""}),
    "of a tenant that is none": token({"tenant": ["acme"]}),
    "with rights that are none": token({"scope": {"recall": True}}),
    "with banks that are none": token({"banks": [1]}),
    "signed by another": token(None, OTHER),
    "signed by another key of the set": token(None, CURVE, "ES256", "first"),
    "signed by another algorithm of the key": token(None, RSA, "RS512"),
    "signed by nobody": unsigned("none"),
    "signed by nobody, in capitals": unsigned("NONE"),
    "signed by the public key": forged_with_the_public_key(),
    "of a key that is not there": token(None, OTHER, "RS256", "third"),
    "of no key": jwt.encode(CLAIMS, RSA, "RS256"),
    "with a key of its own": token(None, OTHER, "RS256", "mine", jwk=jwk(OTHER, "mine", "RS256")),
    "changed": token()[:-3] + "AAA",
    "far too long": token({"sub": "x" * TOKEN_CHARS}),
    "no token": "a.b.c",
    "nothing": "",
}


@pytest.mark.parametrize("wrong", WRONG)
async def test_a_token_that_is_wrong_is_nobodys_and_does_not_say_why(wrong):
    with pytest.raises(Unauthenticated) as caught:
        await tokens().authenticate(WRONG[wrong])
    assert caught.value.message == "the credential is not known, or not good any more"
    assert str(caught.value.__cause__)


@pytest.mark.parametrize("claims", [{"exp": int(NOW.timestamp()) - 29}, {"nbf": int(NOW.timestamp()) + 30}])
async def test_clocks_may_differ_a_little(claims):
    assert await tokens().authenticate(token(claims))


async def test_a_token_that_was_right_ends_all_the_same():
    now = [NOW]
    known = Tokens(Held(read_jwks(ALL)), EXPECTED, lambda: now[0])
    assert await known.authenticate(token())
    now[0] = NOW + timedelta(minutes=11)
    with pytest.raises(Unauthenticated):
        await known.authenticate(token())


async def test_a_key_that_is_withdrawn_ends_tokens_that_were_right():
    held = Held(read_jwks(ALL), read_jwks(key_set(jwk(CURVE, "curve", "ES256"))))
    known = Tokens(held, EXPECTED, lambda: NOW)
    assert await known.authenticate(token())
    await held.renew()
    with pytest.raises(Unauthenticated):
        await known.authenticate(token())


async def test_a_key_that_is_new_is_asked_for():
    held = Held(read_jwks(key_set(FIRST)), read_jwks(key_set(FIRST, jwk(OTHER, "second", "RS256"))))
    known = Tokens(held, EXPECTED, lambda: NOW)
    assert await known.authenticate(token(None, OTHER, "RS256", "second"))
    assert held.renewed == 1


async def test_a_single_key_needs_no_name():
    bare = {name: value for name, value in FIRST.items() if name not in ("kid", "alg")}
    assert await tokens(read_jwks(key_set(bare))).authenticate(jwt.encode(CLAIMS, RSA, "RS256"))


async def test_while_no_key_was_to_be_had_nothing_is_told_of_a_token():
    with pytest.raises(StoreUnavailable):
        await tokens(None).authenticate(token())


async def test_what_was_right_is_remembered_within_bounds():
    known = tokens()
    for number in range(3):
        await known.authenticate(token({"sub": str(number)}))
    assert len(known._right) == 3 <= KEPT


SECRET = {"kty": "oct", "k": "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTEyMzQ", "kid": "first", "alg": "HS256"}


def test_what_is_not_for_signatures_by_key_pairs_is_left_out():
    rows = (FIRST, SECRET, jwk(OTHER, "enc", "RS256", use="enc"), {"kty": "new kind", "kid": "n"}, {"kty": "RSA"})
    assert set(read_jwks(key_set(*rows))) == {"first"}


@pytest.mark.parametrize("written", [b"", b"[]", b'{"keys": 7}', b'{"keys": ["x"]}', key_set(), key_set(SECRET)])
def test_what_is_no_set_of_public_keys_is_refused(written):
    with pytest.raises(InvalidArgument, match="jwks"):
        read_jwks(written)


@pytest.mark.parametrize(
    "url", ["http://id.example.com/keys", "ftp://x/keys", "https://", "https://user:pw@x/", "https://x:port/"]
)
def test_an_address_that_anybody_on_the_way_could_answer_for_is_refused(url):
    with pytest.raises(InvalidArgument, match="https://"):
        check_url(url)


class Issuer:
    """Serves a set of keys over HTTP, and counts how often it was asked."""

    def __init__(self):
        self.answer, self.status, self.asked = ALL, 200, 0

    @contextmanager
    def open(self):
        issuer = self

        class Answering(BaseHTTPRequestHandler):
            def do_GET(self):
                issuer.asked += 1
                self.send_response(issuer.status)
                self.send_header("location", "/keys")
                self.end_headers()
                self.wfile.write(issuer.answer)

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/keys?v=1"
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


async def test_keys_of_an_address_are_renewed_and_kept_while_it_is_away():
    issuer = Issuer()
    with issuer.open() as url:
        async with open_jwks(url, read_jwks, life_s=0.05, again_s=0.01) as keys:
            assert set(keys.value) == {"first", "curve", "ed"}
            issuer.answer = key_set(FIRST)
            async with asyncio.timeout(30):
                while set(keys.value) != {"first"}:
                    await asyncio.sleep(0.01)
            for status, answer in ((500, ALL), (302, ALL), (200, b"no keys"), (200, b" " * 2_000_000)):
                issuer.status, issuer.answer, before = status, answer, issuer.asked
                async with asyncio.timeout(30):
                    while issuer.asked < before + 2:
                        await asyncio.sleep(0.01)
                assert set(keys.value) == {"first"}


async def test_forged_tokens_do_not_make_us_ask_again_and_again():
    issuer, now = Issuer(), [0.0]
    with issuer.open() as url:
        async with open_jwks(url, read_jwks, now=lambda: now[0]) as keys:
            known = Tokens(keys, EXPECTED, lambda: NOW)
            forged = [known.authenticate(token(None, OTHER, "RS256", f"k{n}")) for n in range(50)]
            assert all(
                isinstance(one, Unauthenticated) for one in await asyncio.gather(*forged, return_exceptions=True)
            )
            assert issuer.asked == 1
            now[0] = 16.0
            with pytest.raises(Unauthenticated):
                await known.authenticate(token(None, OTHER, "RS256", "k51"))
            assert issuer.asked == 2


async def test_an_issuer_that_is_away_at_the_start_is_waited_for():
    issuer = Issuer()
    issuer.status = 503
    with issuer.open() as url:
        async with open_jwks(url, read_jwks, again_s=0.01) as keys:
            assert keys.value is None
            issuer.status = 200
            async with asyncio.timeout(30):
                while keys.value is None:
                    await asyncio.sleep(0.01)


@asynccontextmanager
async def opened(tmp_path, **jwt_settings):
    path = tmp_path / "jwks.json"
    path.write_bytes(ALL)
    said = {"jwks": str(path), "issuer": ISSUER, "audience": AUDIENCE, "rights_claim": "scope"} | jwt_settings
    async with open_authenticator(AuthSettings(mode="on", jwt=said), tuple, public=True) as known:
        yield known


async def test_a_mesh_knows_tokens_by_the_keys_of_a_file(tmp_path):
    async with opened(tmp_path) as known:
        lasting = token({"exp": int(datetime.now(UTC).timestamp()) + 60})
        assert (await known.authenticate(lasting)).tenant == "acme"
        with pytest.raises(Unauthenticated):
            await known.authenticate(token({"exp": 1}))


@pytest.mark.parametrize("missing", ["issuer", "audience"])
async def test_tokens_of_any_issuer_or_for_anybody_are_not_taken(tmp_path, missing):
    with pytest.raises(InvalidArgument, match=f"JWT__{missing.upper()}: is required"):
        async with opened(tmp_path, **{missing: None}):
            pass
