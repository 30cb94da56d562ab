"""Attacks on Bough, one row each: hostile folders, templates, lines, files and texts, in a table for each area.

A row says what is built and what must come. After each attack Bough must still work; `victim.py` checks the worker.
Slow rows are marked `long`. The modules named `fuzz` make attacks at random, from a seed;
`python -m tests.attacks folders 1 --seed 1 --first 20` repeats one of them.
"""
