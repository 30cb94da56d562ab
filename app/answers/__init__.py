"""Answers on their way: the worker as Qt signals, the model that it has loaded, requests and what streams back."""
