"""What Google's reference says a request, a resource, a name, a filter, an error and an answer look like."""
