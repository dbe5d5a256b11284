"""What dbt asks about ACID sources that needs no row of them: columns, docs, freshness."""
