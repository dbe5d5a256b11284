"""Directories that compactions of another metastore have made, as REPL LOAD brings them.

Their names have transactions of that metastore. Hive hides a directory until its own transaction of
this number has ended. Then the rows appear without any write.
"""

from __future__ import annotations

from collections.abc import Sequence

from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import ServerInfo, TableName


def find_compactions_of_other_metastore(
    client: MetastoreClient,
    server: ServerInfo,
    name: TableName,
    uncommitted: Sequence[tuple[str, int]],
) -> list[tuple[str, int]]:
    """Return the compactions that another metastore ran.

    The metastore knows the transaction of its compaction before the directory is made
    (`AcidCompactionService.compact`), and forgets a compaction after its cleaning, for which the
    snapshot's transaction makes it wait. By numbers alone nothing can be told: transactions go on,
    and may have passed the number of a foreign directory that the snapshot does not see.

    Args:
        uncommitted: see `Location.uncommitted_compactions`; listed before.

    Raises:
        MetastoreError: the metastore could not be asked.
    """
    if not uncommitted:
        return []
    now = client.get_valid_txns()
    aborted = now.aborted & {transaction for _, transaction in uncommitted}
    if aborted:
        # What a compaction has left that was aborted, as its worker died, is hidden until the
        # cleaner removes it. The directory of another aborted transaction is shown once the
        # metastore forgets that transaction: it does so within seconds of an empty one.
        aborted -= client.get_aborted_writers() or frozenset()
    unknown = [
        (path, transaction) for path, transaction in uncommitted if transaction not in aborted
    ]
    if not unknown:
        return []
    own = {compaction.transaction_id for compaction in client.get_compactions(name)}
    if own == {None} and not server.tells_compaction_transactions:
        return [(path, number) for path, number in unknown if number > now.high_watermark]
    return [(path, number) for path, number in unknown if number not in own]
