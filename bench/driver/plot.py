"""The ratios of a run as an SVG picture: a bar per row and peer from 1 to the ratio on a logarithmic axis.

The picture needs no other file: its styles have a light and a dark set of colours, which the viewer's setting chooses.
"""
import math
import re
import statistics
from xml.sax.saxutils import escape

import report

# Of Okabe and Ito, told apart by the colour-blind; more peers than colours begin again.
LIGHT = ['#0072b2', '#d55e00', '#009e73', '#cc79a7']
DARK = ['#56b4e9', '#e69f00', '#2fc79a', '#e0a0c8']
BAR, GAP, MARGIN = 12, 5, 16  # pixels: a bar, between rows, around the picture
HEADING = 34  # pixels of a family's line
HEAD = 92  # pixels above the first family: title, where the figures come from, legend, numbers of the axis
FONT, LETTER = 11, 6.3  # pixels: the font's size and the width of a letter, a little more than of common fonts
# Of the micro benchmarks: the first whose expression is found in the name.
FAMILIES = [('Scalars', '^(1000 x|Rosenbrock)'), ('Networks', 'MLP .*step|(?i:lstm)|gru|ctc|conv[123]d|pool[123]d|_norm |attention'),
            ('Factorisations and transforms', r' of \d+( x \[|, complex)'),
            ('Matrix products and Jacobians', 'matmul|^Jacobian'), ('Elementwise', '^(gradient of sum|tanh forward)'),
            ('Reductions, sorting and indexing', '')]
AXIS = 520  # pixels
BEYOND = 96  # pixels right of the axis, for the number of its longest bar


def drawn(rows):
    """The rows that have a ratio, which the table of bench/README.md shows too; and of single ops all."""
    return [row for row in report.shown(rows, ops=True) if row['ratio'] is not None and 0 < row['ratio'] < math.inf]


def ticks(low, high):
    """Powers of ten in the interval; of fewer than three decades also their doubles and fives."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (1, 2, 5) if high / low < 1000 else (1,)
    return [tick for k in decades for f in factors if low <= (tick := f * 10.0**k) <= high]


class Axis:
    """Pixels of a ratio."""

    def __init__(self, ratios, left):
        self.low, self.high = min([0.8, *ratios]) / 1.1, max([2, *ratios]) * 1.1
        self.left = left

    def at(self, ratio):
        return self.left + AXIS * math.log(ratio / self.low) / math.log(self.high / self.low)


def label(row):
    return row['name'] + (f', {row["threads"]} threads' if row['threads'] > 1 else '')


def family(name):
    """The section of the tables, that of micro benchmarks divided."""
    whole = report.section(name)
    return next(title for title, pattern in FAMILIES if re.search(pattern, name)) if whole == 'Micro benchmarks' else whole


def families(rows):
    """The lines of the picture: family, then label, then the rows of that label, one for each peer; two threads after one."""
    names = list(dict.fromkeys(row['name'] for row in rows))
    order = {title: k for k, title in enumerate([title for title, _ in FAMILIES] + report.SECTIONS)}
    found = {}
    for row in sorted(rows, key=lambda row: (order[family(row['name'])], names.index(row['name']), row['threads'])):
        found.setdefault(family(row['name']), {}).setdefault(label(row), []).append(row)
    return found


def styles(peers):
    def colours(palette):
        return ' '.join(f'.peer{k}{{fill:{palette[k % len(palette)]}}}' for k in range(peers))

    return (f'text{{font:{FONT}px sans-serif;fill:#222}} .title{{font-size:16px;font-weight:bold}} .family{{font-size:13px;'
            f'font-weight:bold}} .quiet{{fill:#666}} .end{{text-anchor:end}} .middle{{text-anchor:middle}} .page{{fill:#fff}} '
            f'.grid{{stroke:#ddd}} .one{{stroke:#222;stroke-width:1.5}} {colours(LIGHT)} '
            f'@media (prefers-color-scheme:dark){{text{{fill:#ddd}} .quiet{{fill:#999}} .page{{fill:#16181c}} '
            f'.grid{{stroke:#3a3d44}} .one{{stroke:#ddd}} {colours(DARK)}}}')


def text(x, y, content, kind=''):
    return f'<text x="{x:.1f}" y="{y:.1f}"' + (f' class="{kind}"' if kind else '') + f'>{escape(content)}</text>'


def legend(rows, peers, x, y):
    """A colour and a name for each peer, with the geometric mean of its ratios."""
    parts = []
    for k, peer in enumerate(peers):
        mean = statistics.geometric_mean(row['ratio'] for row in rows if row['peer'] == peer)
        content = f'{peer}, geometric mean {mean:.2f}'
        parts += [f'<rect class="peer{k}" x="{x:.1f}" y="{y - 10}" width="12" height="12"/>', text(x + 17, y, content)]
        x += 17 + LETTER * len(content) + 24
    return parts, x


def bar(row, k, axis, y):
    """A row's bar, with its figures as a tooltip, and the ratio at the bar's end away from 1."""
    one, end = axis.at(1), axis.at(row['ratio'])
    times = ''
    if row.get('ours_ns') is not None:
        times = f': reel {report.amount(row["ours_ns"], row)}, {row["peer"]} {report.amount(row["peer_ns"], row)}'
    differ = ', results differ' if row.get('agree') is False else ''
    tip = f'{label(row)}, {row["peer"]}{times}, ratio {row["ratio"]:.2f}{differ}'
    number = text(max(one, end) + 4, y + BAR - 2, f'{row["ratio"]:.2f}{differ}', 'quiet')
    return [f'<rect class="bar peer{k}" x="{min(one, end):.2f}" y="{y:.1f}" width="{abs(end - one):.2f}" height="{BAR}">'
            f'<title>{escape(tip)}</title></rect>', number]


def lines(rows, peers, axis):
    """The families' headings and bars, and the height of the picture above which they end."""
    parts, y = [], HEAD
    for title, named in families(rows).items():
        parts.append(text(MARGIN, y + HEADING - 10, title, 'family'))
        y += HEADING
        for name, of_name in named.items():
            parts.append(text(axis.left - 8, y + (BAR * len(of_name) + FONT - 3) / 2, name, 'end'))
            for row in of_name:
                parts += bar(row, peers.index(row['peer']), axis, y)
                y += BAR
            y += GAP
    return parts, y


def grid(axis, bottom):
    """A line for each number of the axis, with the number at both ends, and the line at 1, where both sides take the same time."""
    parts = []
    for tick in ticks(axis.low, axis.high):
        x = axis.at(tick)
        kind = 'one' if math.isclose(tick, 1) else 'grid'
        parts.append(f'<line class="{kind}" x1="{x:.2f}" y1="{HEAD}" x2="{x:.2f}" y2="{bottom:.1f}"/>')
        parts += [text(x, y, f'{tick:g}', 'middle') for y in (HEAD - 5, bottom + FONT + 3)]
    return parts


def svg(result):
    """The picture of a run: a dict with the rows, and with date, machine and command where it has them."""
    rows = drawn(result['rows'])
    peers = list(dict.fromkeys(row['peer'] for row in rows))
    widest = max([len(label(row)) for row in rows], default=0)
    axis = Axis([row['ratio'] for row in rows], MARGIN + 8 + LETTER * widest)
    body, bottom = lines(rows, peers, axis)
    colours, right = legend(rows, peers, MARGIN, 60)
    what = 'The time (or the size) of each peer divided by reel\'s, on a logarithmic axis. Above 1, reel is faster (or smaller).'
    source = f'Measured {result.get("date", "")} on {result.get("machine", "")}. {what}'
    width = max(axis.left + AXIS + BEYOND, right, 2 * MARGIN + LETTER * len(source))
    height = bottom + FONT + 3 + MARGIN
    empty = [] if rows else [text(MARGIN, 60, 'No row has a peer to compare with.')]
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="t d" width="{width:.0f}" '
             f'height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">',
             '<title id="t">reel beside its peers</title>', f'<desc id="d">{escape(source)}</desc>',
             f'<style>{styles(len(peers))}</style>', '<rect class="page" width="100%" height="100%"/>',
             text(MARGIN, 26, 'reel beside its peers', 'title'), text(MARGIN, 43, source, 'quiet'), *colours, *empty,
             *(grid(axis, bottom) if rows else []), *body, '</svg>']
    return '\n'.join(parts) + '\n'
