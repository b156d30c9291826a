"""Secrets that nobody can guess."""

from cadenza.adapters.ids import LENGTH, RandomTokens


def test_secrets_are_letters_and_digits_and_never_the_same() -> None:
    token_generator = RandomTokens()
    drawn = [token_generator.secret() for _ in range(200)]
    assert len(set(drawn)) == len(drawn)
    assert all(secret.isascii() and secret.isalnum() and len(secret) == LENGTH for secret in drawn)
    for place in range(LENGTH):
        assert len({secret[place] for secret in drawn}) > 20, "no place is the same every time"
