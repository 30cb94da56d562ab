"""How an OpenDocument text looks: named styles, and those that only some of its places need; it knows no message."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from app.model.exports.highlighting import theme

NAMESPACES = " ".join(
    f'xmlns:{prefix}="{name}"'
    for prefix, name in {
        "office": "urn:oasis:names:tc:opendocument:xmlns:office:1.0",
        "style": "urn:oasis:names:tc:opendocument:xmlns:style:1.0",
        "text": "urn:oasis:names:tc:opendocument:xmlns:text:1.0",
        "table": "urn:oasis:names:tc:opendocument:xmlns:table:1.0",
        "draw": "urn:oasis:names:tc:opendocument:xmlns:drawing:1.0",
        "fo": "urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0",
        "svg": "urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0",
        "meta": "urn:oasis:names:tc:opendocument:xmlns:meta:1.0",
        "dc": "http://purl.org/dc/elements/1.1/",
        "xlink": "http://www.w3.org/1999/xlink",
    }.items()
)
PAGE_MM = (210, 297)
MARGIN_MM = 20
TEXT_MM = PAGE_MM[0] - 2 * MARGIN_MM
STEP_MM = 8
"""How far a list or a quote stands in."""
LIST_LEVELS = 10
"""What programs have."""

BELOW_MM = {"Text_20_body": 2.5, "Quotations": 2.5, "Footnote": 2.5, "Formula": 3.5, "Horizontal_20_Line": 4}
"""How much room there is below paragraphs of these styles."""
QUOTE_LINE = f"2pt solid {theme('light')['line']}"

_TEXT_PT, _CODE_PT, _SMALL_PT = 10.5, 9, 8.5
_HEADINGS_PT = (15, 11, 14, 12.5, 11.5, 10.5)
_BULLETS = "•◦▪"


def attributes(values: Mapping[str, str | float]) -> str:
    return "".join(f' {name}="{escape(str(value))}"' for name, value in values.items())


def style(
    name: str,
    family: str,
    parent: str = "",
    properties: Mapping[str, Mapping[str, str | float]] | None = None,
    **more: str,
) -> str:
    """Return a style as XML; `properties`: by their kind (paragraph, text, …), what is set."""
    head = {"style:name": name, "style:family": family, **({"style:parent-style-name": parent} if parent else {})}
    if "_20_" in name:
        head["style:display-name"] = name.replace("_20_", " ")
    head |= {f"style:{key.replace('_', '-')}": value for key, value in more.items()}
    inner = "".join(f"<style:{kind}-properties{attributes(set_)}/>" for kind, set_ in (properties or {}).items())
    return f"<style:style{attributes(head)}>{inner}</style:style>"


def letters(
    size_pt: float | None = None, *, is_bold: bool | None = None, is_italic: bool | None = None, colour: str = ""
) -> dict[str, str | float]:
    """Return what letters of any script look like: each kind of script has a size and a weight of its own."""
    looks: dict[str, str | float] = {"fo:color": colour} if colour else {}
    for script in ("", "-asian", "-complex"):
        space = "style" if script else "fo"
        if size_pt is not None:
            looks[f"{space}:font-size{script}"] = f"{size_pt}pt"
        if is_bold is not None:
            looks[f"{space}:font-weight{script}"] = "bold" if is_bold else "normal"
        if is_italic is not None:
            looks[f"{space}:font-style{script}"] = "italic" if is_italic else "normal"
    return looks


def margins(top_mm: float = 0, bottom_mm: float = 0, left_mm: float = 0) -> dict[str, str | float]:
    return {"fo:margin-top": f"{top_mm}mm", "fo:margin-bottom": f"{bottom_mm}mm", "fo:margin-left": f"{left_mm}mm"}


def named_styles() -> str:
    """Return the styles that a person finds by their names, and changes for the whole document there."""
    colours = theme("light")
    quiet, line = colours["quiet_text"], f"0.5pt solid {colours['line']}"
    mono: dict[str, str | float] = {
        "style:font-name": "Mono",
        "style:font-name-asian": "Mono",
        "style:font-name-complex": "Mono",
    }
    no_language: dict[str, str | float] = {"fo:language": "zxx", "fo:country": "none"}
    default: dict[str, str | float] = {"style:font-name": "Text", **letters(_TEXT_PT)}
    whole: dict[str, str | float] = {"fo:keep-with-next": "always"}
    code: dict[str, str | float] = {
        "fo:background-color": colours["sunken"],
        "fo:border": line,
        "fo:padding": "1.5mm",
        # It reads from left to right in any text.
        "style:writing-mode": "lr-tb",
        "fo:text-align": "left",
    }
    plain = "Standard"
    by_default = (
        f'<style:paragraph-properties style:tab-stop-distance="15.24mm"/><style:text-properties{attributes(default)}/>'
    )
    made = [
        f'<style:default-style style:family="paragraph">{by_default}</style:default-style>',
        style(plain, "paragraph"),
        style(
            "Text_20_body",
            "paragraph",
            plain,
            {"paragraph": {**margins(0, BELOW_MM["Text_20_body"]), "fo:line-height": "120%"}},
        ),
        style("Tight_20_item", "paragraph", "Text_20_body", {"paragraph": margins(0, 0.8)}),
        style("Typed_20_line", "paragraph", plain, {"paragraph": {"fo:line-height": "120%"}}),
        style("Title", "paragraph", plain, {"paragraph": margins(0, 5), "text": letters(19, is_bold=True)}),
        style("Reasoning", "paragraph", "Typed_20_line", {"text": letters(colour=quiet)}),
        style(
            "Quotations",
            "paragraph",
            "Text_20_body",
            {
                "paragraph": {"fo:border-left": QUOTE_LINE, "fo:padding-left": "3mm"},
                "text": letters(colour=quiet),
            },
        ),
        style(
            "Preformatted_20_Text",
            "paragraph",
            plain,
            {"paragraph": code, "text": mono | letters(_CODE_PT) | no_language},
        ),
        style(
            "Formula", "paragraph", plain, {"paragraph": {**margins(1, BELOW_MM["Formula"]), "fo:text-align": "center"}}
        ),
        style("Footnote", "paragraph", "Text_20_body", {"text": letters(_SMALL_PT)}),
        style(
            "Horizontal_20_Line",
            "paragraph",
            plain,
            {"paragraph": {**margins(0, BELOW_MM["Horizontal_20_Line"]), "fo:border-bottom": line}},
        ),
        style("Table_20_Contents", "paragraph", plain),
        style("Small_20_Table_20_Contents", "paragraph", "Table_20_Contents", {"text": letters(_SMALL_PT)}),
        style("Figures", "paragraph", plain, {"paragraph": margins(0, 2.5), "text": letters(_SMALL_PT, colour=quiet)}),
        style("Failure", "paragraph", "Text_20_body", {"text": letters(colour=colours["danger"])}),
        style(
            "Footer",
            "paragraph",
            plain,
            {"paragraph": {}, "text": letters(8, colour=quiet)},
        ).replace(
            "<style:paragraph-properties/>",
            '<style:paragraph-properties><style:tab-stops><style:tab-stop style:type="right" '
            f'style:position="{TEXT_MM}mm"/></style:tab-stops></style:paragraph-properties>',
        ),
        style("Strong_20_Emphasis", "text", "", {"text": letters(is_bold=True)}),
        style("Emphasis", "text", "", {"text": letters(is_italic=True)}),
        style("Struck", "text", "", {"text": {"style:text-line-through-style": "solid"}}),
        style("Superscript", "text", "", {"text": {"style:text-position": "super 65%"}}),
        style(
            "Source_20_Text",
            "text",
            "",
            {"text": {"fo:background-color": colours["sunken"], **mono, **no_language}},
        ),
        style(
            "Internet_20_link",
            "text",
            "",
            {"text": {"fo:color": colours["accent"], "style:text-underline-style": "solid"}},
        ),
        *(_list_style(name, suffix) for name, suffix in (("Bullets", ""), ("Numbers", "."), ("Numbers_20_paren", ")"))),
    ]
    for level, size_pt in enumerate(_HEADINGS_PT, 1):
        looks = letters(size_pt, is_bold=True, colour=quiet if level == 2 else "")
        above_mm = 6 if level <= 2 else 3
        below_mm = 1 if level == 2 else 1.5
        made.append(
            style(
                f"Heading_20_{level}",
                "paragraph",
                plain,
                {"paragraph": {**margins(above_mm, below_mm), **whole}, "text": looks},
                default_outline_level=str(level),
            )
        )
    return "".join(made)


def _list_style(name: str, suffix: str) -> str:
    levels: list[str] = []
    for level in range(1, LIST_LEVELS + 1):
        kind = "number" if suffix else "bullet"
        head = {"text:level": str(level)}
        head |= {"style:num-format": "1", "style:num-suffix": suffix} if suffix else {}
        head |= {} if suffix else {"text:bullet-char": _BULLETS[min(level, len(_BULLETS)) - 1]}
        alignment = {
            "text:label-followed-by": "listtab",
            "fo:text-indent": f"-{STEP_MM - 2}mm",
            "fo:margin-left": f"{level * STEP_MM}mm",
        }
        levels.append(
            f"<text:list-level-style-{kind}{attributes(head)}>"
            '<style:list-level-properties text:list-level-position-and-space-mode="label-alignment">'
            f"<style:list-level-label-alignment{attributes(alignment)}/></style:list-level-properties>"
            f"</text:list-level-style-{kind}>"
        )
    shown = name.replace("_20_", " ")
    return f'<text:list-style style:name="{name}" style:display-name="{shown}">{"".join(levels)}</text:list-style>'


class PlaceStyles:
    """The styles that only some places of a document need, each made when it is first wanted."""

    def __init__(self) -> None:
        self._made: dict[str, str] = {}
        self._names: dict[str, str] = {}
        line = f"0.5pt solid {theme('light')['line']}"
        cell: dict[str, str | float] = {"fo:border": line, "fo:padding": "1.2mm"}
        self._made["Cell"] = style("Cell", "table-cell", "", {"table-cell": cell})
        head = {**cell, "fo:background-color": theme("light")["sunken"]}
        self._made["HeadCell"] = style("HeadCell", "table-cell", "", {"table-cell": head})
        stands: dict[str, str | float] = {
            "style:vertical-pos": "from-top",
            "style:vertical-rel": "baseline",
            "fo:border": "none",
        }
        self._made["InLine"] = style("InLine", "graphic", "", {"graphic": stands})

    def paragraph(self, parent: str, set_: Mapping[str, str | float]) -> str:
        """Return the name of a style that is `parent`, but for what is set."""
        return self._named("P", "paragraph", parent, {"paragraph": set_}) if set_ else parent

    def letters(self, set_: Mapping[str, str | float]) -> str:
        return self._named("T", "text", "", {"text": set_})

    def table(self, width_mm: float, left_mm: float, *, is_rtl: bool) -> str:
        return self._named(
            "Table",
            "table",
            "",
            {
                "table": {
                    "style:width": f"{width_mm:.1f}mm",
                    "table:align": "right" if is_rtl else "left",
                    **margins(0, 3.5, left_mm),
                    "table:border-model": "collapsing",
                    "style:writing-mode": "rl-tb" if is_rtl else "lr-tb",
                }
            },
        )

    def column(self, width_mm: float) -> str:
        return self._named("Column", "table-column", "", {"table-column": {"style:column-width": f"{width_mm:.1f}mm"}})

    def xml(self) -> str:
        return "".join(self._made.values())

    def _named(self, kind: str, family: str, parent: str, properties: Mapping[str, Mapping[str, str | float]]) -> str:
        looks = style("", family, parent, properties)
        name = self._names.setdefault(looks, f"{kind}{len(self._names) + 1}")
        self._made[name] = style(name, family, parent, properties)
        return name
