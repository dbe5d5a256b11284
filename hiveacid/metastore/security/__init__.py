"""Security of connections to the metastore: who we are, and how both sides prove and protect it."""
