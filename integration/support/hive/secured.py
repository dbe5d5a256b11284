"""A Hive whose metastores ask who their clients are, with a KDC, all in one Java process.

HiveServer2 itself is unsecured, and reaches the metastore's code within the process: with Hadoop's
security on, its local MapReduce would need Hadoop's native library. So the security is on only
while a metastore starts; the metastore keeps its login, and asks every client for one.

Several metastores on the one database stand for several settings, at one or two seconds each.
"""

from __future__ import annotations

import base64
import json
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from integration.support.hive import hive_3
from integration.support.hive.config import HivePorts, HiveSettings, write_site
from integration.support.hive.java import find_java
from integration.support.hive.jvm import Jvm
from integration.support.hive.kdc import SERVER, Kdc
from integration.support.hive.server import HiveServer, free_ports

_METASTORE = "org.apache.hadoop.hive.metastore.HiveMetaStore"
PASSWORD = "s3cret of dbt"
"""Password of the user `dbt` of a metastore with `PLAIN`."""

STORE_PASSWORD = "changeit"


class SecuredHive(HiveServer):
    """Such a Hive. Its metastore speaks Kerberos; `start_metastore` adds others."""

    def __init__(
        self,
        settings: HiveSettings,
        *,
        work: Path,
        protection: str = "authentication,privacy",
        kdc: Kdc | None = None,
    ) -> None:
        """`protection` is Hadoop's `hadoop.rpc.protection`.

        `kdc` runs already; without it there is one in the Java process of Hive.
        """
        metastore, hs2, kdc_port = free_ports(3)
        self.kdc = kdc or Kdc(work.resolve() / "kerberos", kdc_port)
        self._protection = protection
        extra = {
            **self._kerberos(),
            # In-process for HiveServer2.
            "hive.metastore.uris": "",
            **settings.extra,
        }
        settings = HiveSettings(**{**vars(settings), "extra": extra})
        super().__init__(settings, work=work, ports=HivePorts(metastore, hs2))

    @property
    def metastore_uri(self) -> str:
        """Address of the metastore with Kerberos; its principal has this host's name."""
        return f"thrift://localhost:{self.ports.metastore}"

    @property
    def hadoop_conf(self) -> Path:
        """A directory for `HADOOP_CONF_DIR` of clients, with core-site.xml alone."""
        directory = self.work / "hadoop_conf"
        directory.mkdir(exist_ok=True)
        write_site(self._core_site("kerberos", self._protection), directory / "core-site.xml")
        return directory

    def start_metastore(
        self, properties: Mapping[str, str], *, kerberos: bool = False, protection: str = ""
    ) -> str:
        """Start one more metastore on the same database; return its address."""
        jvm = self._running()
        (port,) = free_ports(1)
        system = jvm.packages.java.lang.System
        # Over what hive-site.xml says of the first metastore. Its own settings are read already.
        chosen = {
            "hive.metastore.sasl.enabled": str(kerberos).lower(),
            "metastore.housekeeping.threads.on": "false",
            **properties,
        }
        for name, value in chosen.items():
            system.setProperty(name, value)
        try:
            self._start_secured(jvm, port, "kerberos" if kerberos else "simple", protection)
        finally:
            for name in chosen:
                system.clearProperty(name)
        return f"thrift://localhost:{port}"

    @contextmanager
    def kept_secure(self) -> Iterator[None]:
        """Keep Hadoop's security on, for a metastore that works on an HDFS with Kerberos.

        HiveServer2 can read meanwhile, and not write.
        """
        self._write_core_site("kerberos", self._protection)
        self._secure(self._running(), "kerberos")
        try:
            yield
        finally:
            self._secure(self._running(), "simple")
            self._write_core_site("simple", self._protection)

    def jwt_issuer(self) -> JwtIssuer:
        """Return an issuer of tokens with a new key."""
        return JwtIssuer(self._running(), self.work)

    @property
    def authority(self) -> Path:
        """The certificate of the metastores with TLS, as PEM; for the host `localhost`."""
        certificate = self.work / "tls" / "metastore.pem"
        if not certificate.exists():
            certificate.parent.mkdir(parents=True)
            self._keytool(
                *("-genkeypair", "-alias", "metastore", "-keyalg", "RSA", "-dname", "CN=metastore"),
                *("-ext", "san=dns:localhost", "-validity", "2", "-storetype", "PKCS12"),
                store="keystore.p12",
            )
            self._keytool(
                *("-exportcert", "-rfc", "-alias", "metastore", "-file", str(certificate)),
                store="keystore.p12",
            )
            self._keytool(
                *("-importcert", "-noprompt", "-alias", "ca", "-file", str(certificate)),
                *("-storetype", "PKCS12"),
                store="truststore.p12",
            )
        return certificate

    @property
    def truststore(self) -> Path:
        """The same certificate as Java wants it, with `STORE_PASSWORD`."""
        return self.authority.with_name("truststore.p12")

    def tls_properties(self) -> dict[str, str]:
        """Settings of a metastore that speaks TLS."""
        return {
            "hive.metastore.use.SSL": "true",
            "hive.metastore.keystore.path": str(self.authority.with_name("keystore.p12")),
            "hive.metastore.keystore.password": STORE_PASSWORD,
            "hive.metastore.keystore.type": "PKCS12",
        }

    def __enter__(self) -> SecuredHive:
        self.start()
        return self

    def start(self) -> None:
        """Start KDC, metastore and HiveServer2."""
        (self.work / "conf").mkdir(parents=True, exist_ok=True)
        self._write_core_site("kerberos", self._protection)
        super().start()

    def _java_options(self) -> list[str]:
        return [f"-Djava.security.krb5.conf={self.kdc.conf}"]

    def _start_services(self, jvm: Jvm) -> None:
        self.kdc.start(jvm)
        self._start_secured(jvm, self.ports.metastore, "kerberos", self._protection)
        self._start_hiveserver2(jvm)

    def _start_secured(self, jvm: Jvm, port: int, authentication: str, protection: str) -> None:
        self._write_core_site(authentication, protection or self._protection)
        self._secure(jvm, authentication)
        try:
            metastore = jvm.start_main(_METASTORE, "-p", str(port))
            self._wait_for_metastore(port, jvm, metastore)
            # The port answers a little before all settings are read.
            time.sleep(0.5)
        finally:
            self._secure(jvm, "simple")
            self._write_core_site("simple", self._protection)

    def _secure(self, jvm: Jvm, authentication: str) -> None:
        hadoop = jvm.packages.org.apache.hadoop
        configuration = hadoop.conf.Configuration()
        configuration.set("hadoop.security.authentication", authentication)
        hadoop.security.UserGroupInformation.setConfiguration(configuration)

    def _write_core_site(self, authentication: str, protection: str) -> None:
        write_site(
            self._core_site(authentication, protection), self.work / "conf" / "core-site.xml"
        )

    def _core_site(self, authentication: str, protection: str) -> dict[str, str]:
        return {
            "hadoop.security.authentication": authentication,
            "hadoop.rpc.protection": protection,
            # Of an HDFS with Kerberos, if there is one.
            "dfs.namenode.kerberos.principal": SERVER,
        }

    def _kerberos(self) -> dict[str, str]:
        return {
            "hive.metastore.sasl.enabled": "true",
            "hive.metastore.kerberos.principal": SERVER,
            "hive.metastore.kerberos.keytab.file": str(self.kdc.keytab("hive")),
        }

    def _keytool(self, *arguments: str, store: str) -> None:
        keytool = find_java().executable.with_name("keytool")
        command = [str(keytool), *arguments, "-keystore", store, "-storepass", STORE_PASSWORD]
        subprocess.run(command, cwd=self.work / "tls", check=True, capture_output=True)


class SecuredMetastore3(HiveServer):
    """The metastore of Hive 3.1.3 with Kerberos, without a HiveServer2."""

    def __init__(self, work: Path, kdc: Kdc) -> None:
        """`kdc` runs already."""
        self._kdc = kdc
        kerberos = {
            "metastore.sasl.enabled": "true",
            "metastore.kerberos.principal": SERVER,
            "metastore.kerberos.keytab.file": str(kdc.keytab("hive")),
        }
        super().__init__(
            HiveSettings(extra=kerberos), work=work, metastore_only=True, version=hive_3.VERSION
        )

    @property
    def metastore_uri(self) -> str:
        """Address of the metastore; its principal has this host's name."""
        return f"thrift://localhost:{self.ports.metastore}"

    def start(self) -> None:
        """Start it with Hadoop's security on."""
        conf = self.work / "conf"
        conf.mkdir(parents=True, exist_ok=True)
        core_site = {
            "hadoop.security.authentication": "kerberos",
            "hadoop.rpc.protection": "privacy",
        }
        write_site(core_site, conf / "core-site.xml")
        super().start()

    def _java_options(self) -> list[str]:
        return [f"-Djava.security.krb5.conf={self._kdc.conf}"]


PLAIN_PROPERTIES = {
    "metastore.authentication": "CONFIG",
    "metastore.authentication.config.username": "dbt",
    "metastore.authentication.config.password": PASSWORD,
    "metastore.execute.setugi": "false",
}
"""Settings of a metastore that asks for a user and a password."""


class JwtIssuer:
    """Signs JSON web tokens for a metastore, with a key of its own made by Java."""

    def __init__(self, jvm: Jvm, directory: Path) -> None:
        self._security = jvm.packages.java.security
        generator = self._security.KeyPairGenerator.getInstance("RSA")
        generator.initialize(2048)
        pair = generator.generateKeyPair()
        self._key = pair.getPrivate()
        kind = jvm.packages.java.lang.Class.forName("java.security.spec.RSAPublicKeySpec")
        factory = self._security.KeyFactory.getInstance("RSA")
        public = factory.getKeySpec(pair.getPublic(), kind)
        self._jwks = directory / "jwks.json"
        key = {
            "kty": "RSA",
            "kid": "test",
            "alg": "RS256",
            "use": "sig",
            "n": _number(int(public.getModulus().toString())),
            "e": _number(int(public.getPublicExponent().toString())),
        }
        self._jwks.write_text(json.dumps({"keys": [key]}))

    @property
    def properties(self) -> dict[str, str]:
        """Settings of a metastore that speaks HTTP and takes these tokens."""
        return {
            "metastore.server.thrift.transport.mode": "http",
            "metastore.authentication": "JWT",
            "metastore.authentication.jwt.jwks.url": f"file://{self._jwks}",
            "metastore.execute.setugi": "false",
        }

    def token(self, user: str = "dbt", *, lifetime: float = 3600) -> str:
        """A token of a user."""
        claims = {"sub": user, "iat": int(time.time()) - 10, "exp": int(time.time() + lifetime)}
        head = {"alg": "RS256", "typ": "JWT", "kid": "test"}
        text = ".".join(_base64(json.dumps(part).encode()) for part in (head, claims))
        signature = self._security.Signature.getInstance("SHA256withRSA")
        signature.initSign(self._key)
        signature.update(text.encode())
        return f"{text}.{_base64(bytes(signature.sign()))}"


def _number(value: int) -> str:
    return _base64(value.to_bytes((value.bit_length() + 7) // 8, "big"))


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
