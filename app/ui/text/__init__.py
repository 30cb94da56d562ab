"""A message's text: Markdown as a document, its code, tables, formulas and tokens."""
