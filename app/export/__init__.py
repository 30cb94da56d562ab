"""Exports that need Qt: PDF and DOCX."""
