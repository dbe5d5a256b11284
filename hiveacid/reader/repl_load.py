"""Directories of compactions that another metastore ran, copied by REPL LOAD.

Their names have transaction ids of the other metastore. Hive hides a directory until its own
transaction with this id has ended. Then the rows appear without a write.
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

    The metastore records the transaction of its own compaction before the directory is created
    (`AcidCompactionService.compact`), and removes the record after the cleaning, which waits for
    the snapshot's transaction. Transaction ids alone decide nothing: the metastore's own ids may
    have passed the id of a foreign directory that the snapshot does not see.

    Args:
        uncommitted: `Location.uncommitted_compactions`, from a listing before this call.

    Raises:
        MetastoreError: the metastore could not be asked.
    """
    if not uncommitted:
        return []
    now = client.get_valid_txns()
    aborted = now.aborted & {transaction for _, transaction in uncommitted}
    if aborted:
        # A directory of our own compaction that aborted (its worker died) is hidden until the
        # cleaner removes it. The directory of any other aborted transaction is shown once the
        # metastore forgets the transaction: for an empty transaction, within seconds.
        aborted -= client.get_aborted_writers() or frozenset()
    unknown = [
        (path, transaction) for path, transaction in uncommitted if transaction not in aborted
    ]
    if not unknown:
        return []
    own = {compaction.transaction_id for compaction in client.get_compactions(name)}
    if own == {None} and not server.lists_compaction_transactions:
        return [(path, number) for path, number in unknown if number > now.high_watermark]
    return [(path, number) for path, number in unknown if number not in own]
