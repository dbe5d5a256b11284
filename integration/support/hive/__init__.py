"""A real Apache Hive on this machine, for tests, benchmarks and the quickstart.

with HiveServer() as hive, HiveClient(hive.hs2_port) as client:
    client.execute("CREATE TABLE t (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='true')")
"""

from integration.support.hive.client import HiveClient, HiveSqlError
from integration.support.hive.config import HiveSettings
from integration.support.hive.server import HiveServer, HiveStartError

__all__ = ["HiveClient", "HiveServer", "HiveSettings", "HiveSqlError", "HiveStartError"]
