"""Metadata of ACID sources for dbt, without reading rows: columns, docs, freshness."""
