"""TLS around a connection to the metastore, by Python's `ssl`."""

from __future__ import annotations

import socket
import ssl

from hiveacid.metastore.security.failures import HandshakeError
from hiveacid.metastore.security.settings import Tls

_HOSTNAME_MISMATCH, _IP_MISMATCH = 62, 64
"""`X509_V_ERR_HOSTNAME_MISMATCH` and `X509_V_ERR_IP_ADDRESS_MISMATCH` of OpenSSL."""


def tls_context(settings: Tls) -> ssl.SSLContext:
    """Return a context that trusts the certificates of the settings.

    Raises:
        HandshakeError: the file of certificates cannot be used.
    """
    try:
        context = ssl.create_default_context(cafile=settings.ca_file)
    except ssl.SSLError as error:
        raise HandshakeError(
            f"{settings.ca_file} has no certificates in the form of PEM",
            "Export the certificate of the authority: keytool -exportcert -rfc.",
        ) from error
    except OSError as error:
        raise HandshakeError(
            f"the certificates in {settings.ca_file} cannot be read: {error.strerror}",
            "Check `ca_file` of Tls.",
        ) from error
    context.check_hostname = settings.check_hostname
    # Since Python 3.13 it refuses an authority's certificate without the extension "key usage".
    # Companies' own authorities often lack it, and Hive's Java trusts them.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


def wrap_in_tls(handle: socket.socket, settings: Tls, host: str) -> ssl.SSLSocket:
    """Return the socket with TLS, after the handshake.

    Raises:
        HandshakeError: the server is not trusted, or speaks no TLS.
        TimeoutError: no answer within the socket's timeout.
    """
    context = tls_context(settings)
    try:
        return context.wrap_socket(handle, server_hostname=host)
    except TimeoutError:
        raise
    except OSError as error:
        raise tls_failure(error) from error


def tls_failure(error: OSError) -> HandshakeError:
    """Return the error for a failed handshake, from the error of `ssl` or of the socket."""
    if isinstance(error, ssl.SSLCertVerificationError):
        reason = f"its TLS certificate is not trusted: {error.verify_message.rstrip('.')}"
        if error.verify_code in (_HOSTNAME_MISMATCH, _IP_MISMATCH):
            return HandshakeError(
                reason,
                "Use in metastore_uri a host name that the certificate has, or set "
                "Tls(check_hostname=False).",
            )
        return HandshakeError(
            reason,
            "Set `ca_file` of Tls to a PEM file with the certificate of the authority that has "
            "signed the metastore's.",
        )
    cut = isinstance(error, ssl.SSLEOFError | ConnectionError)
    if cut or "WRONG_VERSION_NUMBER" in str(error) or "RECORD_LAYER" in str(error):
        return HandshakeError(
            "it does not answer in TLS",
            "Leave out `tls` of Security if the metastore's hive.metastore.use.SSL is false.",
        )
    return HandshakeError(
        f"no TLS connection: {getattr(error, 'reason', None) or error}",
        "Check `tls` of Security, and the versions of TLS that both sides allow.",
    )
