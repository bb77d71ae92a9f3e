"""Real documents for the tests: PDF by ReportLab, DOCX by hand."""

from __future__ import annotations

import io
import zipfile
from xml.sax.saxutils import escape

_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def pdf(pages: list[list[str]], *, password: str = "") -> bytes:
    """A PDF with lines of Chinese or English on each page."""
    from reportlab.lib.pdfencrypt import StandardEncryption  # noqa: PLC0415 - slow to load
    from reportlab.pdfbase import pdfmetrics  # noqa: PLC0415
    from reportlab.pdfbase.cidfonts import UnicodeCIDFont  # noqa: PLC0415
    from reportlab.pdfgen.canvas import Canvas  # noqa: PLC0415

    pdfmetrics.registerFont(UnicodeCIDFont("STSong-Light"))
    made = io.BytesIO()
    encrypt = StandardEncryption(password, canPrint=0) if password else None
    canvas = Canvas(made, encrypt=encrypt)
    for lines in pages:
        canvas.setFont("STSong-Light", 12)
        for number, line in enumerate(lines):
            canvas.drawString(60, 780 - 18 * number, line)
        canvas.showPage()
    canvas.save()
    return made.getvalue()


def docx(blocks: list[tuple[str, str]], *, body: str = "") -> bytes:
    """A DOCX of ("h1" | "h2" | "p" | "row", text); cells of a row are parted by "|"."""
    pieces = []
    for kind, text in blocks:
        if kind == "row":
            cells = "".join(
                f"<w:tc><w:p><w:r><w:t>{escape(cell)}</w:t></w:r></w:p></w:tc>" for cell in text.split("|")
            )
            pieces.append(f"<w:tbl><w:tr>{cells}</w:tr></w:tbl>")
            continue
        style = f'<w:pPr><w:pStyle w:val="S{kind[1]}"/></w:pPr>' if kind != "p" else ""
        half = len(text) // 2  # Word parts a sentence into runs as it likes
        runs = "".join(
            f'<w:r><w:t xml:space="preserve">{escape(part)}</w:t></w:r>'
            for part in (text[:half], text[half:])
        )
        pieces.append(f"<w:p>{style}{runs}</w:p>")
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="S{n}"><w:name w:val="heading {n}"/></w:style>'
        for n in (1, 2)
    )
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("[Content_Types].xml", "<Types/>")
        package.writestr("word/styles.xml", f"<w:styles {_W}>{styles}</w:styles>")
        package.writestr(
            "word/document.xml",
            body or f"<w:document {_W}><w:body>{''.join(pieces)}<w:sectPr/></w:body></w:document>",
        )
    return made.getvalue()
