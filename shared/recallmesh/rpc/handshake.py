"""Why a call did not reach its server, where TLS is what was in its way, in words for those who run a mesh."""

SAID = (
    ("certificate has expired", "a service of the mesh has a certificate that has expired"),
    ("certificate is not yet valid", "a service of the mesh has a certificate that is not valid yet"),
    (
        "CERTIFICATE_VERIFY_FAILED",
        "a service of the mesh has a certificate of an authority that is not known here: is the CA the right one?",
    ),
    (
        "Hostname Verification Check failed",
        "a service of the mesh has a certificate for another name than the one it is called by",
    ),
    ("WRONG_VERSION_NUMBER", "a service of the mesh speaks no TLS, and is called by it"),
)
"""What gRPC's own text holds, and what it means; the first one counts. The text itself is kept from callers."""
CLOSED = ("Socket closed", "Connection reset")
"""How a connection ends that was there: by TLS where none was spoken, or where a certificate was missing."""
UNREACHED = ("failed to connect to all addresses", "connections to all backends failing")
"""How gRPC begins where no connection was made: by the policies pick_first and round_robin."""
HUNG_UP = (
    "a service of the mesh does not answer: it ends every connection at once, as one does that speaks TLS alone, or "
    "asks for a certificate of its caller"
)


def trouble_of(said: str) -> str | None:
    """Return what is wrong, by what gRPC says of a connection that was not made; nothing where it is not TLS."""
    if not said.startswith(UNREACHED):
        return None
    for text, meaning in SAID:
        if text in said:
            return meaning
    return HUNG_UP if any(text in said for text in CLOSED) else None
