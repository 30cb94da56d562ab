"""Tool calls and reasoning: how models write these parts of a turn. No model and no large imports."""
