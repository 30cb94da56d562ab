"""The text of messages: Markdown as a document with code, tables and formulas; tokens."""
