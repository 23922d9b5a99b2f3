"""The revisions; each is named after what it brings."""
