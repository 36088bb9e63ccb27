"""Draws a terminal's screen as SVG: reads the output of tmux capture-pane -e, and writes the picture.

    screens.py WIDTH HEIGHT < screen > picture.svg

Blocks and lines are shapes, because fonts draw them with gaps. Everything else is text."""

import html
import re
import sys

CELL, LINE, MARGIN = 8, 17, 8  # pixels; the font is as wide as a cell
PAPER, INK, FAINT = "#16181d", "#d8dbe0", "#868c98"
COLORS = {"0": "#16181d", "1": "#e5616c", "2": "#7cc37f", "3": "#e0b354", "4": "#6ea6e8", "5": "#c08be0", "6": "#5fc4c9", "7": "#d8dbe0"}
FROM_LEFT = " ▏▎▍▌▋▊▉█"
FROM_BELOW = " ▁▂▃▄▅▆▇█"
LINES = {"─": ["h"], "│": ["v"], "└": ["right", "up"], "╵": ["up"]}


def style(codes, now):
    """Returns the style after an escape sequence: ink, paper, bold, faint."""
    ink, paper, bold, faint = now
    for code in codes.split(";"):
        if code in ("", "0"):
            ink = paper = None
            bold = faint = False
        elif code == "1":
            bold = True
        elif code == "2":
            faint = True
        elif code == "22":
            bold = faint = False
        elif re.fullmatch("[39][0-7]", code):
            ink = COLORS[code[1]]
        elif re.fullmatch("4[0-7]", code):
            paper = COLORS[code[1]]
        elif code == "39":
            ink = None
        elif code == "49":
            paper = None
        else:
            sys.exit("screens.py: unknown style " + code)
    return ink, paper, bold, faint


def cells(line, now):
    """Returns the characters of a line with their styles, and the style at its end."""
    out = []
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        if part.startswith("\x1b"):
            now = style(part[2:-1], now)
        else:
            out += [(c, now) for c in part]
    return out, now


def runs(row):
    """Returns the stretches of cells that are drawn alike: column, text, style."""
    out = []
    for x, (c, look) in enumerate(row):
        shape = c in FROM_LEFT[1:] or c in FROM_BELOW or c in "░▬" or c in LINES
        if out and out[-1][2] == look and (out[-1][1][-1] == c if shape or out[-1][3] else True) and out[-1][3] == shape:
            out[-1][1] += c
        else:
            out.append([x, c, look, shape])
    return out


def box(x, y, width, height, fill, more=""):
    return '<rect x="%g" y="%g" width="%g" height="%g" fill="%s"%s/>' % (x, y, width, height, fill, more)


def shape(x, y, c, count, fill):
    """Draws equal block or line characters, one beside the other."""
    width = CELL * count
    if c == "░":
        return [box(x, y, width, LINE, fill, ' opacity=".25"')]
    if c == "▬":
        return [box(x, y + LINE * 0.4, width, LINE * 0.2, fill)]
    if c in FROM_BELOW:
        high = LINE * FROM_BELOW.index(c) / 8
        return [box(x, y + LINE - high, width, high, fill)]
    if c in FROM_LEFT:
        return [box(x + i * CELL, y, CELL * FROM_LEFT.index(c) / 8, LINE, fill) for i in range(count)]
    middle = (x + CELL / 2, y + LINE / 2)
    parts = {"h": (x, middle[1], width, 1), "right": (middle[0], middle[1], CELL / 2, 1), "v": (middle[0], y, 1, LINE), "up": (middle[0], y, 1, LINE / 2)}
    return [box(*parts[p], fill) for p in LINES[c]]


def draw(lines, width, height):
    size = width * CELL + 2 * MARGIN, height * LINE + 2 * MARGIN
    yield '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="ui-monospace,Menlo,Consolas,DejaVu Sans Mono,monospace" font-size="13">' % (size + size)
    yield box(0, 0, *size, PAPER, ' rx="6"')
    now = (None, None, False, False)
    for row, line in enumerate(lines):
        got, now = cells(line, now)
        y = MARGIN + row * LINE
        for column, text, (ink, paper, bold, faint), is_shape in runs(got):
            x = MARGIN + column * CELL
            fill = ink or (FAINT if faint else INK)
            if paper:
                yield box(x, y, CELL * len(text), LINE, paper)
            if is_shape and text[0] != " ":
                yield from shape(x, y, text[0], len(text), fill)
            elif text.strip():
                column, bare = len(text) - len(text.lstrip()), text.strip()
                yield '<text x="%g" y="%g" textLength="%g" xml:space="preserve" fill="%s"%s>%s</text>' % (
                    x + column * CELL, y + 13, CELL * len(bare), fill, ' font-weight="bold"' if bold else "", html.escape(bare))
    yield "</svg>"


if __name__ == "__main__":
    width, height = map(int, sys.argv[1:])
    print("\n".join(draw(sys.stdin.read().split("\n")[:height], width, height)))
