"""The models that the windows offer: finds them on this machine and on the hub, downloads and converts them."""
