"""Running answers: the worker's events as Qt signals, the loaded model, requests and streamed text."""
