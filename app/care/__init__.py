"""What keeps an installation in good order: its log, reports of crashes, news of releases, moving. No Qt."""
