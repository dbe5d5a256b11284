"""What differs in Hive 3.1.3: it is made for Java 8, and for an older Hadoop.

It runs on Java 17, without any Java of ours, with Hadoop's jars of Hive 4.0.1, and with one class
of that Hive: the serializer of part of a list, which otherwise looks for fields of Java 8's. In it
the name of one method is that of Hive 3.1.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from integration.support.hive.java import jar_of_files

VERSION = "3.1.3"
SCHEMA_TOOL = "org.apache.hadoop.hive.metastore.tools.MetastoreSchemaTool"

_LISTENER = "org.apache.hive.hcatalog.listener.DbNotificationListener"

#: Hive 4.0.1's jars that stand before its own. Those of Tez are there only so that classes link.
_BORROWED = (
    "commons-beanutils-",
    "commons-cli-",
    "commons-codec-",
    "commons-collections-",
    "commons-compress-",
    "commons-configuration2-",
    "commons-io-",
    "commons-lang3-",
    "commons-logging-",
    "commons-text-",
    "derby-",
    "guava-",
    "hadoop-",
    "jackson-core-asl-",
    "jackson-mapper-asl-",
    "jcl-",
    "log4j-",
    "protobuf-java-2",
    "re2j-",
    "slf4j-api-",
    "stax2-",
    "tez-",
    "woodstox-",
)
_SERIALIZER = (
    "org/apache/hadoop/hive/ql/exec/SerializationUtilities$ArrayListSubListSerializer.class"
)


def class_path(own: Sequence[Path], four: Sequence[Path], directory: Path) -> tuple[Path, ...]:
    """The class path of Hive 3.1.3, of its own jars and those of Hive 4.0.1."""
    borrowed = [jar for jar in four if jar.name.startswith(_BORROWED)]
    serializer = jar_of_files(
        four, [_SERIALIZER], directory / "sublists.jar", change=_with_accessor
    )
    return (serializer, *borrowed, *own)


def _with_accessor(serializer: bytes) -> bytes:
    """Return the class of Hive 4.0.1 as one that calls Hive 3.1.3.

    It gets `SerializationUtilities.FAKE_REFERENCE` by a method whose name is the compiler's
    choice: without this, Hive 3.1.3 fails each job with part of a list in its plan
    (NoSuchMethodError).
    """
    before, after = _constant("access$700"), _constant("access$1000")
    if serializer.count(before) != 1:
        raise ValueError(f"{_SERIALIZER} does not name access$700 once: is it not Hive 4.0.1's?")
    return serializer.replace(before, after)


def _constant(text: str) -> bytes:
    """Return a text as a class file holds it: a tag, the length, and the text itself."""
    return b"\x01" + len(text).to_bytes(2, "big") + text.encode()


def older_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties of a Hive 3.1.3 that does what a Hive 4.0.1 with these does."""
    return {
        # A class of its own, unlike Hive 4's it has no way to be left out.
        **{k: v for k, v in properties.items() if k != "metastore.metadata.transformer.class"},
        # Its cleaner starts with the initiator only, which looks at tables every so often.
        "hive.compactor.initiator.on": "true",
        "hive.compactor.check.interval": "1000000s",
        "hive.metastore.schema.verification": "false",
        # A child process would need Hadoop's scripts.
        "hive.exec.submitviachild": "false",
        "hive.exec.submit.local.task.via.child": "false",
        "hive.server2.webui.port": "-1",
        "hive.server2.materializedviews.registry.impl": "DUMMY",
        "metastore.thrift.uris": properties["hive.metastore.uris"],
        # It keeps a notification log, which anybody may read.
        "metastore.transactional.event.listeners": _LISTENER,
        "metastore.event.db.notification.api.auth": "false",
    }


def of_metastore(properties: Mapping[str, str]) -> dict[str, str]:
    """Those properties that its metastore reads from a file of its own, metastore-site.xml."""
    return {
        k: v
        for k, v in properties.items()
        if k.startswith(("metastore.", "javax.", "fs.", "hadoop."))
    }
