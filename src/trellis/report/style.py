"""How our pages look: one frame, light and dark, nothing loaded from the net."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

COMMON = """
:root { color-scheme: light dark; --ink: #1d2a22; --soft: #5c6b62; --paper: #fbfcf9; --card: #ffffff; --line: #d9e0d8;
  --leaf: #3f8f5b; --root: #c2571a; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6ece7; --soft: #9fb0a5; --paper: #141a16; --card: #1c241f;
  --line: #33403a; --leaf: #6cc08b; --root: #f0935a; --bad: #ff8a80; } }
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 32px 20px 64px; }
h1 { font-size: 28px; margin: 0 0 4px; } h2 { font-size: 18px; margin: 36px 0 8px; }
p, .soft { color: var(--soft); } code, pre { font: 13px/1.55 ui-monospace, monospace; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 16px; overflow-x: auto; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px; margin-top: 20px; }
.tile b { display: block; font-size: 22px; } .tile span { color: var(--soft); font-size: 13px; }
table { border-collapse: collapse; } td, th { text-align: left; padding: 3px 18px 3px 0; }
.kept { color: var(--leaf); } .broken { color: var(--bad); font-weight: 600; }
summary { cursor: pointer; }
svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--soft); font-size: 12px; text-anchor: middle; }
svg .y { text-anchor: end; } .grid line { stroke: var(--line); }
"""


def framed(title: str, style: str, body: str) -> str:
    """A whole page; `style` is what it needs beyond the common."""
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Trellis: {escape(title)}</title><style>{COMMON}{style}</style></head><body><main>
{body}
</main></body></html>
"""


def tiles(shown: Sequence[tuple[str, str]]) -> str:
    """A row of numbers, each with what it counts."""
    told = "".join(f"<div class='card tile'><b>{escape(b)}</b><span>{escape(s)}</span></div>" for b, s in shown)
    return f'<div class="tiles">{told}</div>'
