"""What is kept in the folder --state, and how it is found again: records, log entries, buckets, scratch folders."""
