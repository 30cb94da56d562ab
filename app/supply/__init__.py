"""The models that the windows offer: found on this machine, searched on the hub, fetched and converted."""
