"""What is kept in the folder --state: records, log entries, buckets, scratch folders."""
