"""The Models window: the models on this machine and on the hub, and what can be done with each."""
