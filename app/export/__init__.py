"""Exports that need Qt: PDF and ODT."""
