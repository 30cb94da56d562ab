"""Running answers: the worker as Qt signals, the loaded model, requests and streamed text."""
