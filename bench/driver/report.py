"""Tables of rows, for the terminal and as Markdown."""
import datetime
import os
import platform
import re
import statistics

OP = re.compile(r'^(?P<op>.+) (?P<dtype>f32|f64), n = (?P<n>1e\d)$')
# Programs that use one thread: their rows with two say nothing new.
ONE_THREAD = re.compile(r'^(tape: |1000 x|Rosenbrock|LSTM|rollout|quadrotor|Lotka|Black-Scholes|gradient .* n = 1e3$)|32\^3|16-16-16-16|13-32-32-3')
SECTIONS = ['Micro benchmarks', 'Whole programs', 'Tapes', 'Machine', 'Ops']


def machine():
    """The processor's name and how many there are."""
    name = platform.machine()
    with open('/proc/cpuinfo') as file:
        for line in file:
            if line.startswith('model name'):
                name = line.split(':', 1)[1].strip()
                break
    return f'{os.cpu_count()} cores of {name}'


def section(name):
    if name.startswith('machine: '):
        return 'Machine'
    if name.startswith('tape: '):
        return 'Tapes'
    if OP.match(name):
        return 'Ops'
    if name.startswith(('stripped library', 'seconds to compile', 'start-up', 'peak bytes')):
        return 'Whole programs'
    return 'Micro benchmarks'


def printed(rows, pattern):
    """Those whose name the filter finds. The machine's bandwidth is measured whatever the filter is."""
    return [row for row in rows if re.search(pattern, row['name'])]


def digits(value):
    """Three digits or more, without an exponent."""
    return f'{value:.0f}' if value >= 1000 else f'{value:.3g}'


def amount(value, row):
    """A measured value in units that fit the row: ns per op or element, or time, or bytes."""
    if value is None:
        return '-'
    if row['unit'] == 'bytes':
        return f'{digits(value / 1e6)} MB'
    if row['unit_count'] != 1:
        return f'{digits(value / row["unit_count"])} ns/{row["unit"]}'
    for scale, unit in [(1e9, 's'), (1e6, 'ms'), (1e3, 'us')]:
        if value >= scale:
            return f'{digits(value / scale)} {unit}'
    return f'{digits(value)} ns'


def spread(value, quartiles):
    return '' if not value or not quartiles else f'{100 * (quartiles[1] - quartiles[0]) / value:.0f} %'


def notes(row):
    """What a row has beside its time."""
    parts = []
    if row.get('agree') is False:
        parts.append('RESULTS DIFFER')
    if 'gb_per_s' in row:
        parts.append(f'{digits(row["gb_per_s"])} GB/s')
    if 'of_bandwidth' in row:
        parts.append(f'{row["of_bandwidth"]:.2f} of bandwidth')
    if 'of_l1' in row and not row['name'].endswith('n = 1e3'):
        parts.append(f'{row["of_l1"]:.2f} of L1')
    if 'gflop_per_s' in row:
        parts.append(f'{digits(row["gflop_per_s"])} GFLOP/s')
    parts += [f'{key.replace("_", " ")} {row[key]:.4g}' for key in row if re.search('per_(entry|step|call)', key)]
    return ', '.join(parts)


def cells(row):
    return [row['name'], str(row['threads']), amount(row['ours_ns'], row), spread(row['ours_ns'], row['ours_quartiles']),
            row['peer'] or '-', amount(row['peer_ns'], row), spread(row['peer_ns'], row.get('peer_quartiles')),
            '-' if row['ratio'] is None else f'{row["ratio"]:.2f}', notes(row)]


HEAD = ['benchmark', 'threads', 'reel', 'spread', 'peer', 'its time', 'spread', 'ratio', '']


def text(rows, heading):
    """A table in columns under the heading."""
    table = [HEAD] + [cells(row) for row in rows]
    width = [max(len(line[i]) for line in table) for i in range(len(HEAD))]
    lines = ['  '.join(cell.ljust(w) for cell, w in zip(line, width)).rstrip() for line in table]
    return '\n'.join([heading, '=' * len(heading)] + lines)


def shown(rows, ops=False):
    """Those of the table of bench/README.md in its order, with or without those of single ops."""
    return [row for name in SECTIONS[:3] + SECTIONS[4:] * ops for row in rows
            if section(row['name']) == name and (row['threads'] == 1 or not ONE_THREAD.search(row['name']))]


def markdown(report, ops=False):
    """The table of bench/README.md: a line per benchmark and number of threads, a peer's loss or win alike."""
    lines = [f'Measured {report["date"]} on {report["machine"]} with `{report["command"]}`. A ratio above 1: reel is faster, '
             'or smaller.', '', '| benchmark | threads | reel | peer | its time | ratio |', '|---|---|---|---|---|---|']
    for row in shown(report['rows'], ops):
        ratio = '-' if row['ratio'] is None else f'{row["ratio"]:.2f}'
        label = row['name'].replace('*', '\\*').replace('|', '\\|')
        lines.append(f'| {label} | {row["threads"]} | {amount(row["ours_ns"], row)} | {row["peer"] or "-"} | '
                     f'{amount(row["peer_ns"], row)} | {ratio} |')
    return '\n'.join(lines)


def table_name(machine):
    """The page's table for this machine: the last one of each kind of processor is kept."""
    return 'speed table, AMD' if 'AMD' in machine else 'speed table'


def from_markdown(page):
    """What the speed table in a page says of a run: date, machine, command, and of each row name, threads, peer and ratio."""
    table = page[page.index('<!-- speed table: begin -->'):page.index('<!-- speed table: end -->')]
    said = re.search(r'Measured (?P<date>\S+) on (?P<machine>.+) with `(?P<command>.+?)`\.', table)
    rows = []
    for line in table.splitlines():
        found = [cell.strip() for cell in re.split(r'(?<!\\)\|', line)[1:-1]]
        if len(found) == 6 and found[1].isdigit():
            rows.append({'name': re.sub(r'\\([*|])', r'\1', found[0]), 'threads': int(found[1]),
                         'peer': None if found[3] == '-' else found[3], 'ratio': None if found[5] == '-' else float(found[5])})
    return {**said.groupdict(), 'rows': rows}


def gradbench_markdown(rows):
    """The table of GradBench's evals, in microseconds, with the date and this machine."""
    lines = [f'Measured {datetime.date.today().isoformat()} on {machine()}.', '', '| eval | reel | by hand | ratio |', '|---|---|---|---|']
    for row in rows:
        times = [f'{t:.0f}' if t >= 500 else f'{t:.1f}'.removesuffix('.0') for t in (row['ours_ns'] / 1e3, row['peer_ns'] / 1e3)]
        lines.append(f'| {row["name"]} | {times[0]} | {times[1]} | {row["ratio"]:.2f} |')
    return '\n'.join(lines)


def write_between(path, name, text):
    """Replaces what the file has between its markers of that name."""
    with open(path) as file:
        page = file.read()
    begin, end = f'<!-- {name}: begin -->\n', f'\n<!-- {name}: end -->'
    before, found, rest = page.partition(begin)
    _, found_end, after = rest.partition(end)
    if not found or not found_end:
        raise ValueError(f'{path} has no markers {begin.strip()} and {end.strip()}')
    with open(path, 'w') as file:
        file.write(before + begin + text + end + after)


def summary(rows):
    """How many rows a peer wins, the geometric mean of the ratios, and which results differ."""
    compared = [row for row in rows if row['ratio'] is not None]
    lost = [row for row in compared if row['ratio'] < 1]
    lines = [f'{len(rows)} rows, {len(compared)} with a peer, which is faster in {len(lost)}:' if lost else
             f'{len(rows)} rows, {len(compared)} with a peer, which is faster in none']
    lines += [f'  {row["ratio"]:.2f}  {row["name"]}, {row["threads"]} threads, {row["peer"]}' for row in lost]
    if compared:
        lines.append(f'geometric mean of the ratios: {statistics.geometric_mean(row["ratio"] for row in compared):.3f}')
    differ = [row for row in rows if row.get('agree') is False]
    lines += [f'results differ: {row["name"]}, {row["threads"]} threads, {row["peer"]}: {row["checksums"]}' for row in differ]
    return '\n'.join(lines)
