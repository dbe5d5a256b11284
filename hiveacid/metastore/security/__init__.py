"""Security of metastore connections: authentication, signatures and encryption."""
