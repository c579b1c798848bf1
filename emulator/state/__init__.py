"""The content of the folder --state: records, log entries, buckets, scratch folders."""
