"""Transports under TLS."""

import ssl


def context(client):
    """The SSLContext of a client of the specification: its ca is trusted, and
    no name compared. None where its transport has no TLS."""
    if client.get("transport") not in ("tls", "wss"):
        return None
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname = False
    made.load_verify_locations(client["ca"])
    return made
