"""Tokens and text: what tokens spell, what of it may be shown, which may come next. No model computes here."""
