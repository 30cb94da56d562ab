"""The composer: message field, attached files, answer format and sampling settings."""
