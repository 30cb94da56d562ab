"""Conversations as files that others read: one format a module; no window."""
