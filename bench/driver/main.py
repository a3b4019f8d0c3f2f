"""Measures reel and the peers that are built, in alternation; called by bench/run."""
import argparse
import datetime
import json
import os
import re
import shlex
import sys

import measure
import plot
import report
import whole
from program import Failure, Program

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PEERS = {'libtorch': 'bench_libtorch', 'ADOL-C': 'bench_adolc', 'CppAD': 'bench_cppad', 'by hand': 'bench_by_hand',
         'OpenBLAS': 'bench_openblas', 'FFTW': 'bench_fftw'}
ONE_THREAD = {'ADOL-C', 'CppAD', 'by hand'}
# Of the ops, --quick takes these, as float32.
QUICK_OPS = {'add', 'divide', 'power', 'sqrt', 'exp', 'log', 'sin', 'tanh', 'erf', 'lgamma', 'relu', 'less', 'where',
             'sum', 'max', 'softmax', 'cumsum', 'sum over columns'}
NOT_QUICK = ['gelu on', 'entries = 1e7', 'row by row', '(x*y+x)*y', 'where(x>0', 'exp(x)sin(y)']


class Context:
    def __init__(self, arguments):
        self.root, self.quick = ROOT, arguments.quick
        self.build = os.path.join(ROOT, os.environ.get('BUILD', 'build'))
        self.effort = measure.QUICK if arguments.quick else measure.FULL
        self.pattern = re.compile(arguments.filter)
        names = {'reel': 'bench_reel', **PEERS}
        paths = {name: os.path.join(self.build, 'bench', file) for name, file in names.items()}
        self.commands = {name: path for name, path in paths.items() if os.path.exists(path)}
        self.peers = [name for name in PEERS if name in self.commands]
        self.against = arguments.against
        if self.against:
            self.peers, self.commands[self.against] = [self.against], os.path.join(self.against, 'bench', 'bench_reel')
        self.ours_cases, self.steps, self.about = [], [], {}
        self.environment = {}  # of every program

    def start(self, name, threads):
        """A program. The first is reel, which picks OpenBLAS's kernels (tune_blas); the peers get the same ones."""
        program = Program(name, [self.commands[name]], threads, self.environment)
        core = program.about.get('openblas_core')
        if core and self.environment.setdefault('OPENBLAS_CORETYPE', core) != core:
            program.stop()
            raise Failure(f'{name} uses OpenBLAS\'s kernels for {core}, not {self.environment["OPENBLAS_CORETYPE"]}')
        return program

    def takes(self, name, threads):
        """Whether a case is measured on that many threads."""
        if name.startswith('machine: '):
            return True
        if not self.pattern.search(name):
            return False
        if 'independent tapes' in name:  # they start threads themselves
            return threads == 1
        if re.search(r' of \d+( x \[|, complex)', name):  # the peer has one
            return threads == 1
        if not self.quick:
            return True
        op = report.OP.match(name)
        if op:
            chosen = op['op'] in QUICK_OPS and op['dtype'] == 'f32' and op['n'] != '1e5'
            return chosen and (threads == 1 or op['n'] == '1e7')
        if any(text in name for text in NOT_QUICK):
            return False
        return threads == 1 or not name.startswith(('tape: ', '1000 x', 'Rosenbrock'))


def measured(context, counts, show):
    """All rows."""
    rows = []

    def attempt(name, function):
        try:
            rows.append(function())
        except (Failure, OSError, ValueError) as problem:
            print(f'{name}: {problem}', file=sys.stderr)

    for threads in counts:
        ours = context.start('reel', threads)
        context.ours_cases = list(ours.cases)
        peers = [context.start(name, threads) for name in context.peers]
        for program in [ours] + peers:
            context.about.update(program.about)
        for name in ours.cases:
            if not context.takes(name, threads):
                continue
            show(f'{name}, {threads} threads')
            found = [p for p in peers if name in p.cases and not (p.name in ONE_THREAD and threads > 1)]
            for peer in found or [None]:
                attempt(name, lambda: measure.measure(name, ours, peer, context.effort))
        for program in [ours] + peers:
            program.stop()
    for name, function in [] if context.against else whole.rows(context, context.peers):
        if context.pattern.search(name):
            show(name)
            attempt(name, function)
    measure.add_fractions(rows)
    return rows


def main():
    parser = argparse.ArgumentParser(prog='bench/run', description=__doc__)
    parser.add_argument('--json', metavar='FILE', help='write the rows there')
    parser.add_argument('--filter', metavar='REGEX', default='', help='only the benchmarks whose name it finds')
    parser.add_argument('--against', metavar='BUILD', help="the peer is reel as built in that folder: bench_programs of another commit")
    parser.add_argument('--threads', metavar='LIST', help='numbers of threads, 1,2 if there are two processors')
    parser.add_argument('--quick', action='store_true', help='fewer and shorter samples, a selection of the ops')
    parser.add_argument('--list', action='store_true', help='print the names and end')
    parser.add_argument('--install-peers', action='store_true', help='install libtorch, ADOL-C and FFTW first (Debian)')
    parser.add_argument('--markdown', action='store_true', help='print the tables as Markdown')
    parser.add_argument('--readme', action='store_true', help='write that table into bench/README.md, and its picture')
    parser.add_argument('--plot', metavar='FILE', help='draw the ratios as an SVG picture')
    parser.add_argument('--from', dest='source', metavar='FILE', help='measure nothing, print the rows of that JSON (or, with '
                        '--plot, draw the speed table of that page, as bench/README.md)')
    arguments = parser.parse_args()
    if arguments.source:
        return stored(arguments)

    context = Context(arguments)
    if arguments.list:
        ours = context.start('reel', 1)
        context.ours_cases = list(ours.cases)
        ours.stop()
        names = context.ours_cases + [name for name, _ in whole.rows(context, [])]
        print('\n'.join(name for name in names if context.pattern.search(name)))
        return 0
    counts = [int(n) for n in (arguments.threads or '1,2').split(',')]
    if not arguments.threads:
        counts = [n for n in counts if n <= os.cpu_count()]
    terminal = sys.stderr.isatty()
    show = lambda text: print(f'\r\033[K{text[:100]}', end='', file=sys.stderr, flush=True) if terminal else None
    rows = measured(context, counts, show)
    show('')
    result = {'machine': report.machine(), 'date': datetime.date.today().isoformat(),
              'command': shlex.join(['bench/run'] + sys.argv[1:]), 'peers': context.peers,
              'missing': [name for name in PEERS if name not in context.commands], 'about': context.about, 'rows': rows}
    if arguments.json:
        with open(arguments.json, 'w') as file:
            json.dump(result, file, indent=1)
    return output(result, arguments)


def stored(arguments):
    """The output of an earlier run."""
    with open(arguments.source) as file:
        if not arguments.source.endswith('.md'):
            return output(json.load(file), arguments)
        result = report.from_markdown(file.read())
    if not arguments.plot:
        sys.exit(f'{arguments.source} holds ratios without times: add --plot FILE, or give a file that --json wrote')
    draw({**result, 'rows': report.printed(result['rows'], arguments.filter)}, arguments.plot)
    return 0


def draw(result, path):
    with open(path, 'w') as file:
        file.write(plot.svg(result))


def output(result, arguments):
    rows = report.printed(result['rows'], arguments.filter)
    result = {**result, 'rows': rows}
    if arguments.plot:
        draw(result, arguments.plot)
    if arguments.readme:
        page = os.path.join(ROOT, 'bench', 'README.md')
        report.write_between(page, report.table_name(result['machine']), report.markdown(result))
        with open(page) as file:
            draw(report.from_markdown(file.read()), os.path.join(ROOT, 'bench', 'ratios.svg'))
    if arguments.markdown:
        print(report.markdown(result))
        return 0
    about = ', '.join(f'{key.replace("_", " ")} {value}' for key, value in result['about'].items())
    print(f'{result["machine"]}, {about}, {result["date"]}; ratio above 1: reel is faster; spread: between the quartiles')
    if result['missing']:
        print(f'not installed, so not measured: {", ".join(result["missing"])} (bench/run --install-peers)')
    for name in report.SECTIONS:
        chosen = [row for row in rows if report.section(row['name']) == name]
        if chosen:
            print('\n' + report.text(chosen, name))
    print('\n' + report.summary(rows))
    return 1 if any(row.get('agree') is False for row in rows) else 0


if __name__ == '__main__':
    sys.exit(main())
