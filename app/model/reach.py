"""Which messages a conversation reaches, as SQL: the line above its root, and what stands below; it reads nothing.

A message that was pruned is out of sight with all that stands below it, but for what lies on the line of a
conversation that begins further down.
"""

from __future__ import annotations

# UNION (not UNION ALL) ends these walks on cycles, too.

_WALKS = """
WITH RECURSIVE
root (id) AS (SELECT root_id FROM conversation WHERE {where}),
line (id) AS (
    SELECT id FROM root
    UNION SELECT message.parent_id FROM message JOIN line USING (id) WHERE message.parent_id IS NOT NULL
),
below (id) AS (
    SELECT id FROM root
    UNION SELECT message.id FROM message JOIN below ON message.parent_id = below.id {seen}
),
reached (id) AS (SELECT id FROM line UNION SELECT id FROM below)
"""


def in_sight(where: str) -> str:
    """Return what makes `reached`: what conversations of this kind show."""
    return _WALKS.format(where=where, seen="WHERE message.pruned_ms IS NULL")


def kept_but(where: str, pruned: str) -> str:
    """Return what makes `reached`: the same, with all that was pruned but these messages (SQL of a JSON array)."""
    return _WALKS.format(where=where, seen=f"WHERE message.id NOT IN (SELECT value FROM json_each({pruned}))")


def whole(where: str) -> str:
    """Return what makes `reached`: what conversations of this kind show, and what was pruned."""
    return _WALKS.format(where=where, seen="")
