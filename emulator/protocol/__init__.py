"""Google's data types: requests, resources, names, filters, errors and responses."""
