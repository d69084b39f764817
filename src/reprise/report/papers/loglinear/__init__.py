"""Tables of document 004."""
