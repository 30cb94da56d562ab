"""Attacks on Bough, one row each: hostile folders, templates, lines, files and texts, in a table for each area.

A row says what is built and what must come. After each attack Bough must still work; `victim.py` checks the worker.
Slow rows are marked `long`. `fuzz.py` makes attacks at random, from a seed.
"""
