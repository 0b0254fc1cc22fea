"""What is wrong with the files of TLS is said by the setting's name; what ends soon is warned of."""

import dataclasses
from datetime import UTC, datetime, timedelta

import pytest
from certificates import DAY, Authority, put, sides
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from structlog.testing import capture_logs

from recallmesh.core.errors import InvalidArgument
from recallmesh.core.tls import PUBLIC, Tls
from recallmesh.rpc.certificate import expiries
from recallmesh.rpc.pem import FILE_BYTES, read
from recallmesh.rpc.tls import LiveTls
from recallmesh.settings import Settings, load_settings
from recallmesh.telemetry.metrics import Metrics


@pytest.fixture
def made(tmp_path):
    return sides(tmp_path)


@pytest.mark.parametrize("days", [1, 400, 365 * 40])
def test_the_end_of_a_certificate_is_read_as_x509_has_it(days):
    # From 2050 on a date has four digits of the year.
    pem = Authority(days=days).certificate
    (found,) = expiries(pem)
    assert found == x509.load_pem_x509_certificate(pem).not_valid_after_utc


def test_of_a_chain_every_end_is_read():
    first, second = Authority(days=3).certificate, Authority(days=9).certificate
    assert expiries(b"about it\n" + first + b"\n" + second) == expiries(first) + expiries(second)


@pytest.mark.parametrize("at", [0, 1, 4, 9, 20, 70])
def test_a_certificate_that_was_cut_or_mixed_up_is_none(at):
    whole = Authority().certificate
    begin, *body, end = whole.splitlines()
    with pytest.raises(ValueError, match="is no certificate"):
        expiries(b"\n".join([begin, b"".join(body)[: at * 4], end]) if at else b"\n".join([begin, b"@@@@", end]))


def test_whose_files_are_whole_is_read(made):
    found = read(made.server)
    assert (found.ca, found.certificate) == (made.authority.certificate, made.server.certificate.read_bytes())
    assert set(found.until) == {"tls.ca", "tls.certificate"}
    assert "PRIVATE" not in repr(found)
    assert read(Tls(PUBLIC)).ca is None


def test_what_cannot_be_used_is_refused_by_its_name(made, tmp_path):
    def refused(name, why, **files):
        with pytest.raises(InvalidArgument, match=why) as caught:
            read(dataclasses.replace(made.server, **files))
        assert [violation.field for violation in caught.value.violations] == [name]

    def file(content):
        put(tmp_path / "odd.pem", content)
        return tmp_path / "odd.pem"

    refused("tls.ca", "cannot be read: No such file", ca=tmp_path / "nowhere")
    refused("tls.key", "cannot be read: Is a directory", key=tmp_path)
    refused("tls.certificate", "holds no certificate in PEM", certificate=file(b"hello"))
    refused("tls.certificate", "holds no certificate in PEM", certificate=file(b""))
    refused("tls.certificate", "is no PEM file", certificate=file(b"x" * (FILE_BYTES + 1)))
    refused("tls.key", "holds no private key", key=file(made.server.certificate.read_bytes()))
    refused("tls.key", "is not the key of the certificate in", key=made.client.key)
    cut = made.authority.certificate[:200] + made.authority.certificate[-40:]
    refused("tls.ca", "holds a certificate that is damaged", ca=file(cut))
    refused(
        "tls.key",
        "cannot be used|damaged",
        key=file(made.server.key.read_bytes()[:90] + b"\n-----END PRIVATE KEY-----"),
    )


def test_a_key_with_a_password_is_refused_and_nobody_is_asked_for_it(made, tmp_path):
    key = serialization.load_pem_private_key(made.server.key.read_bytes(), None)
    locked = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"word")
    )
    put(tmp_path / "locked.pem", locked)
    with pytest.raises(InvalidArgument, match="locked with a password"):
        read(dataclasses.replace(made.server, key=tmp_path / "locked.pem"))


def test_until_when_certificates_hold_is_told_to_the_metrics(made):
    metrics = Metrics()
    LiveTls(made.server, told=metrics.observe_certificate)
    value = metrics.registry.get_sample_value(
        "recallmesh_certificate_expiry_timestamp_seconds", {"setting": "tls.certificate"}
    )
    assert value == pytest.approx((datetime.now(UTC) + 90 * DAY).timestamp(), abs=60)


def test_what_ends_soon_is_warned_of_once_a_day_and_what_is_over_too(made):
    now = datetime.now(UTC)
    live = LiveTls(made.server, now=lambda: now)
    with capture_logs() as said:
        live.remind()
        now += 80 * DAY
        for _ in range(3):
            live.remind()
        now += DAY
        live.remind()
        now += 20 * DAY
        live.remind()
    soon, later, over = [one for one in said if one["setting"] == "tls.certificate"]
    assert soon["event"] == later["event"] == "certificate expires soon"
    assert over["event"] == "certificate expired"
    assert over["log_level"] == "warning"


def test_a_certificate_that_is_over_does_not_take_the_place_of_one_that_is_not(made, tmp_path):
    live = LiveTls(made.server)
    made.authority.sign("server", days=-1).write(tmp_path, "server")
    with capture_logs() as said:
        assert not live.look()
    assert [one["why"] for one in said] == ["it has expired"]
    made.authority.sign("server", days=2).write(tmp_path, "server")
    assert live.look()
    assert not live.look()


def test_a_link_that_leads_elsewhere_is_a_change(made, tmp_path):
    # How Kubernetes renews a secret that is mounted.
    for number, pair in enumerate((made.authority.sign("one"), made.authority.sign("two"))):
        (tmp_path / f"..{number}").mkdir()
        pair.write(tmp_path / f"..{number}", "tls")
    (tmp_path / "..data").symlink_to("..0")
    live = LiveTls(Tls(None, tmp_path / "..data" / "tls.pem", tmp_path / "..data" / "tls-key.pem"))
    assert not live.look()
    (tmp_path / "..next").symlink_to("..1")
    (tmp_path / "..next").replace(tmp_path / "..data")
    assert live.look()
    assert live.material.certificate == (tmp_path / "..1" / "tls.pem").read_bytes()


def test_files_that_go_away_leave_in_force_what_was(made):
    live = LiveTls(made.server)
    before = live.material
    made.server.key.unlink()
    with capture_logs() as said:
        assert not live.look()
        assert not live.look()
    assert [one["event"] for one in said] == ["certificate not taken"]
    assert live.material is before


def test_the_settings_say_what_each_side_has():
    settings = Settings(
        tls={"certificate": "s.pem", "key": "s.key", "client_ca": "c.pem", "ca": "public", "server_name": "mesh"}
    )
    assert (settings.tls.serving.ca.name, settings.tls.serving.names.ca) == ("c.pem", "RECALLMESH_TLS__CLIENT_CA")
    assert (settings.tls.calling.ca, settings.tls.calling.server_name) == (PUBLIC, "mesh")
    assert (Settings().tls.serving, Settings().tls.calling) == (None, None)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"certificate": "a"}, "certificate and key go together"),
        ({"client_ca": "a"}, "client_ca needs a certificate"),
        ({"client_key": "a"}, "client_certificate and client_key go together"),
    ],
)
def test_half_of_what_belongs_together_is_refused(given, told):
    with pytest.raises(InvalidArgument, match=told):
        load_settings(tls=given)


def test_a_certificate_that_is_not_valid_yet_is_taken_as_it_is(tmp_path):
    pair = Authority().sign("early", days=90 + 400)
    live = LiveTls(Tls(None, *pair.write(tmp_path, "early")))
    assert live.material.until["tls.certificate"] > datetime.now(UTC) + timedelta(days=400)
