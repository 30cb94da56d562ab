"""Models of OpenAI-compatible servers, behind the worker's commands and events. No model runs here."""
