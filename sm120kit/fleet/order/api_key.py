"""The key that clients must send, from where it is kept."""

from __future__ import annotations

from collections.abc import Mapping

from sm120kit.errors import Sm120kitError, code_of
from sm120kit.fleet.order.order import Order
from sm120kit.snapshot.files import Files


def api_key_words(order: Order, caller: Mapping[str, str]) -> tuple[str, ...]:
    """SGLang's argument with the key from the file or the variable that the order names; empty where it names none.

    Raises:
        Sm120kitError: there is no key there.
    """
    if order.api_key_variable:
        key = caller.get(order.api_key_variable, "")
        where = f"the variable {order.api_key_variable}"
    elif order.api_key_file:
        where = order.api_key_file
        try:
            key = Files().text(where, 1 << 16).strip()
        except OSError as error:
            raise Sm120kitError(
                f"the file of the API key cannot be read: {where}: {error.strerror}",
                hint="Name the file that holds it with --api-key-file",
                exit_code=code_of(error),
            ) from error
    else:
        return ()
    if not key or len(key.split()) != 1:
        raise Sm120kitError(f"{where} holds no API key: one word is expected", hint="Write the key there and no more")
    return (f"--api-key={key}",)
