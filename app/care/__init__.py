"""Maintenance of an installation: its log, crash reports, news of releases, moving. No Qt."""
