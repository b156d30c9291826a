"""Idempotency keys: the header, and the digest that identifies a request."""

from collections.abc import Mapping
from hashlib import sha256
from hmac import HMAC
from re import compile as pattern
from typing import Any

from starlette.types import Scope

from cadenza.domain.access.key import Caller
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.text_patterns import AN_ID, AN_IDEMPOTENCY_KEY
from cadenza.domain.wording import text_in_words
from cadenza.operations.idempotency import Answer, IdempotentRequest, ReplySubject
from cadenza.surfaces.http.problems import CONFLICT, problem_json
from cadenza.surfaces.http.request import single_header

HEADER = "Idempotency-Key"
A_KEY = pattern(AN_IDEMPOTENCY_KEY)
ID_PATTERN = pattern(AN_ID)


def key_of(scope: Scope) -> str | None:
    """The idempotency key of a request, if it has one."""
    key = single_header(scope, HEADER.lower().encode())
    if key is not None and not A_KEY.fullmatch(key):
        raise InvalidRequest(f"{HEADER} must be {text_in_words(AN_IDEMPOTENCY_KEY)}.", HEADER)
    return key


def reply_subject(caller: Caller, arguments: Mapping[str, Any]) -> ReplySubject:
    """The tenant of a request, and the user that it is about."""
    named = arguments.get("user_id") if caller.on_behalf_of is None else caller.on_behalf_of.user_id
    is_one = isinstance(named, str) and ID_PATTERN.fullmatch(named)
    return ReplySubject(caller.tenant_id, named if is_one else None)


def idempotent_request(
    subject: ReplySubject, key: str, *, token: str, scope: Scope, body: bytes
) -> IdempotentRequest:
    """A request with its idempotency key, identified by a digest.

    It is made with the caller's own key: what is stored tells nothing of a short
    secret in the body, and another key's answer is never repeated to this one.
    """
    digest = HMAC(token.encode(errors="replace"), digestmod=sha256)
    for part in (scope["method"].encode(), _path(scope), scope["query_string"], body):
        digest.update(len(part).to_bytes(8))
        digest.update(part)
    return IdempotentRequest(subject, key, digest.hexdigest())


def _path(scope: Scope) -> bytes:
    raw: bytes | None = scope.get("raw_path")
    return raw if raw is not None else scope["path"].encode()


def unrepeatable(request_id: str) -> Answer:
    """What is stored instead of an answer that holds a secret."""
    detail = "This was done, and its answer, which held a secret, was shown once. Delete it and ask anew."
    return Answer(CONFLICT.status, problem_json(CONFLICT, detail, request_id))
