"""Signatures by the Standard Webhooks conventions."""

import hmac
from base64 import b64decode, b64encode
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.integration.http.loopback_server import a_claim

from cadenza.adapters.dispatch.http.failure import ExchangeFailed
from cadenza.adapters.dispatch.http.hop import message_id
from cadenza.adapters.dispatch.http.signing import signature_headers
from cadenza.domain.scheduling.target import HttpTarget

KEY = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER = "whsec_" + b64encode(bytes(range(32))).decode()
NOW = datetime.fromtimestamp(1_614_265_330, UTC)


def test_the_example_that_every_library_has() -> None:
    headers = signature_headers(
        [KEY], message="msg_p5jXN8AQM9LWM0D4loKWxJek", now=NOW, body=b'{"test": 2432232314}'
    )
    assert headers == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


def test_every_key_signs_the_current_one_first() -> None:
    both = signature_headers([OTHER, KEY], message="m", now=NOW, body=b"x")["webhook-signature"]
    alone = [
        signature_headers([key], message="m", now=NOW, body=b"x")["webhook-signature"] for key in (OTHER, KEY)
    ]
    assert both.split(" ") == alone


def test_a_key_may_stand_without_its_prefix() -> None:
    plain = signature_headers([KEY.removeprefix("whsec_")], message="m", now=NOW, body=b"")
    assert plain == signature_headers([KEY], message="m", now=NOW, body=b"")


@given(st.binary(min_size=24, max_size=64), st.binary(max_size=100))
def test_a_receiver_can_verify(key: bytes, body: bytes) -> None:
    headers = signature_headers([f"whsec_{b64encode(key).decode()}"], message="a:b", now=NOW, body=body)
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    signature = b64decode(headers["webhook-signature"].removeprefix("v1,"))
    assert hmac.compare_digest(signature, hmac.digest(key, signed, "sha256"))


@pytest.mark.parametrize("key", ["", "whsec_", "whsec_c2hvcnQ=", "whsec_not base64!", "whsec_" + "A" * 200])
def test_a_key_that_is_none_fails_and_is_not_shown(key: str) -> None:
    with pytest.raises(ExchangeFailed) as failed:
        signature_headers([KEY, key], message="m", now=NOW, body=b"")
    assert failed.value.sentence == "signing key 2 is not whsec_ with 24 to 64 bytes in base64"


@given(st.text(min_size=1, max_size=20), st.text(min_size=1, max_size=20))
def test_messages_have_no_full_stop_and_no_two_endpoints_share_one(one: str, other: str) -> None:
    try:
        ids = [message_id(a_claim(HttpTarget("http://x"), name=name)) for name in (one, other)]
    except UnicodeEncodeError:
        return
    assert all("." not in identity and identity.isascii() and identity.isprintable() for identity in ids)
    assert (ids[0] == ids[1]) == (one == other)
