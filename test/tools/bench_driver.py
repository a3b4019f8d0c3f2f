#!/usr/bin/env python3
"""The arithmetic of bench/run, with two programs made up here in place of reel and a peer. Argument: the project's root."""
import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import xml.etree.ElementTree as ElementTree

sys.dont_write_bytecode = True
ROOT = sys.argv.pop(1)
sys.path.insert(0, os.path.join(ROOT, 'bench', 'driver'))
import main  # noqa: E402
import measure  # noqa: E402
import plot  # noqa: E402
import report  # noqa: E402
from program import Failure, Program  # noqa: E402

# Answers with the next of the times given, and with the sum of its operands' ranges as checksum.
FAKE = '''
import json, sys
times, scale, check = [float(t) for t in sys.argv[1].split(',')], float(sys.argv[2]), 1.0
for line in sys.stdin:
    verb, *rest = line.split()
    if verb == 'list':
        cases = [dict(name=n, unit_count=1000, unit='element', bytes=8000, flops=0, tolerance=1e-6, operands='0 2')
                 for n in ('machine: read', 'tanh f32, n = 1e3', 'tanh f32, n = 1e7')]
        answer = {'cases': cases, 'about': {'isa': 'none'}}
    elif verb == 'operands':
        check, answer = sum(map(float, rest)), {}
    elif ' '.join(rest[:-1]) == 'dies':
        sys.exit(1)
    elif 'tanh' not in rest and 'read' not in rest:
        answer = {'error': 'no case is named so'}
    else:
        times.append(times.pop(0))
        answer = {'ns': times[-1], 'check': check * scale, 'bytes_per_entry': 88}
    print(json.dumps(answer), flush=True)
'''


class Driver(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, 'fake.py')
        with open(self.path, 'w') as file:
            file.write(FAKE)
        self.programs = []

    def tearDown(self):
        for program in self.programs:
            program.stop()
        self.folder.cleanup()

    def program(self, name, times, scale=1):
        self.programs.append(Program(name, [sys.executable, self.path, times, str(scale)], 2))
        return self.programs[-1]

    def test_row(self):
        ours, peer = self.program('reel', '900,100,300,200'), self.program('other', '7000,600,600,600')
        row = measure.measure('tanh f32, n = 1e7', ours, peer, measure.Effort(3, 0.001, 3, 1))
        self.assertEqual(list(row)[:7], ['name', 'threads', 'ours_ns', 'peer', 'peer_ns', 'ratio', 'unit_count'])
        self.assertEqual([row[key] for key in list(row)[1:7]], [2, 200, 'other', 600, 3, 1000])
        self.assertEqual(row['ours_quartiles'], [150, 250])
        self.assertEqual((row['agree'], row['checksums'], row['bytes_per_entry'], row['gb_per_s']), (True, [2, 2], 88, 40))
        json.dumps(row)

    def test_a_sample_waits_until_the_other_program_is_idle(self):
        for threads, count, waits in ((2, 2, 8), (2, 1, 0), (1, 2, 0)):
            programs = [self.program(name, '5') for name in ('reel', 'other')[:count]]
            for program in programs:
                program.threads = threads
            with unittest.mock.patch.object(Program, 'settle') as settle:
                measure.alternate('tanh f32, n = 1e3', programs, measure.Effort(3, 0.001, 3, 1))
            self.assertEqual(settle.call_count, waits)
        program = self.program('reel', '5')
        self.assertGreater(program.processor_time(), 0)
        with unittest.mock.patch.object(program, 'processor_time', side_effect=[0, 5, 5, 9, 9, 9]) as times:
            program.settle()
        self.assertEqual(times.call_count, 6)

    def test_results_differ(self):
        row = measure.measure('tanh f32, n = 1e3', self.program('reel', '1'), self.program('other', '1', 1.1), measure.QUICK)
        self.assertIs(row['agree'], False)
        self.assertIn('RESULTS DIFFER', report.text([row], 'Ops'))
        self.assertIn('results differ: tanh', report.summary([row]))

    def test_notes(self):
        self.assertEqual(report.notes({'p99.9_us_per_call': 99.25, 'allocations_per_step': 0, 'ours_ns': 1}),
                         'p99.9 us per call 99.25, allocations per step 0')

    def test_filter(self):
        rows = [{'name': name} for name in ('machine: read', 'tanh f32, n = 1e3')]
        self.assertEqual(report.printed(rows, 'tanh'), rows[1:])
        self.assertEqual(report.printed(rows, 'machine|tanh'), rows)
        self.assertEqual(report.printed(rows, ''), rows)

    def test_against_another_build(self):
        context = main.Context(argparse.Namespace(quick=True, filter='', against='/other/build'))
        self.assertEqual(context.peers, ['/other/build'])
        self.assertEqual(context.commands['/other/build'], '/other/build/bench/bench_reel')

    def test_summary(self):
        rows = [{'name': 'tanh', 'threads': 1, 'peer': 'other', 'ratio': ratio} for ratio in (0.5, 4, None)]
        self.assertEqual(report.summary(rows), '3 rows, 2 with a peer, which is faster in 1:\n  0.50  tanh, 1 threads, other\n'
                                               'geometric mean of the ratios: 1.414')

    def test_no_peer(self):
        row = measure.measure('tanh f32, n = 1e3', self.program('reel', '5'), None, measure.QUICK)
        self.assertEqual([row['peer'], row['peer_ns'], row['ratio']], [None] * 3)
        self.assertIn('| - | - | - |', report.markdown({'date': '', 'machine': '', 'command': '', 'rows': [row]}, ops=True))

    def test_rows_of_one_thread(self):
        row = {'unit': 'run', 'unit_count': 1, 'ours_ns': 2e3, 'peer': 'other', 'peer_ns': 5e3, 'ratio': 2.5}
        rows = [{**row, 'name': name, 'threads': n} for n in (1, 2) for name in ('1000 x mul on [1]', 'matmul 1024^3', 'matmul 32^3')]
        lines = report.markdown({'date': '', 'machine': '', 'command': '', 'rows': rows}).splitlines()[4:]
        self.assertEqual([line.split(' | ')[:2] for line in lines],
                         [['| 1000 x mul on [1]', '1'], ['| matmul 1024^3', '1'], ['| matmul 32^3', '1'], ['| matmul 1024^3', '2']])
        self.assertTrue(lines[0].endswith('| 2 us | other | 5 us | 2.50 |'), lines[0])

    def test_tables_are_written_into_the_page(self):
        page = os.path.join(self.folder.name, 'README.md')
        shutil.copy(os.path.join(ROOT, 'bench', 'README.md'), page)
        eval_row = {'name': 'lse gradient n=10', 'ours_ns': 4900, 'peer_ns': 312000, 'ratio': 63.67}
        tables = {report.table_name('Intel Xeon'): 'fast', report.table_name('AMD EPYC'): 'as fast',
                  'gradbench table': report.gradbench_markdown([eval_row])}
        for name, table in tables.items():
            report.write_between(page, name, table)
            report.write_between(page, name, table)
        with open(page) as file:
            text = file.read()
        for name, table in tables.items():
            self.assertEqual(text.count(f'<!-- {name}: begin -->\n{table}\n<!-- {name}: end -->'), 1)
        self.assertIn('| lse gradient n=10 | 4.9 | 312 | 63.67 |', text)
        self.assertRegex(tables['gradbench table'], r'^Measured \d{4}-\d\d-\d\d on \d+ cores of ')
        self.assertTrue(text.startswith('# Benchmarks\n') and 'Rosenbrock n = 1000' not in text)
        with self.assertRaisesRegex(ValueError, 'no markers'):
            report.write_between(page, 'no table', '')

    def test_fractions(self):
        ours = self.program('reel', '100')
        rows = [measure.measure(name, ours, None, measure.QUICK) for name in ours.cases]
        rows[2]['ours_ns'], rows[2]['gb_per_s'] = 400, 20
        measure.add_fractions(rows)
        self.assertEqual((rows[2]['of_bandwidth'], rows[2]['of_l1']), (0.25, 0.25))

    def test_failures(self):
        ours = self.program('reel', '5')
        with self.assertRaisesRegex(Failure, 'reel: no case'):
            ours.run('cosh', 0.001)
        with self.assertRaisesRegex(Failure, 'no answer'):
            ours.run('dies', 0.001)
        self.assertEqual(ours.run('tanh', 0.001)['ns'], 5)  # started again

    def test_sections(self):
        names = {'machine: read': 'Machine', 'tape: record': 'Tapes', 'where f64, n = 1e5': 'Ops',
                 'stripped library': 'Whole programs', 'tanh forward, n = 1e5': 'Micro benchmarks'}
        self.assertEqual({name: report.section(name) for name in names}, names)

    def test_amounts(self):
        row = {'unit': 'op', 'unit_count': 1000}
        self.assertEqual(report.amount(3934700, row), '3935 ns/op')
        self.assertEqual(report.amount(81234, row), '81.2 ns/op')
        self.assertEqual(report.amount(1234567, {'unit': 'run', 'unit_count': 1}), '1.23 ms')
        self.assertEqual(report.amount(1.207e8, {'unit': 'bytes', 'unit_count': 1}), '121 MB')

    def test_agree(self):
        self.assertIsNone(measure.agree(None, 1, 1e-3))
        self.assertIsNone(measure.agree(1, 1, 0))
        self.assertTrue(measure.agree(0, 0, 1e-3))
        self.assertFalse(measure.agree(1, 1.01, 1e-3))


    def context(self, **cores):
        """Programs that use these kernels of OpenBLAS, unless (a core that ends in ?) the environment names others."""
        context = object.__new__(main.Context)
        context.environment, context.commands = {}, {}
        for name, core in cores.items():
            path = os.path.join(self.folder.name, name)
            with open(path, 'w') as file:
                choice = f'os.environ.get("OPENBLAS_CORETYPE", "{core[:-1]}")' if core[-1] == '?' else f'"{core}"'
                file.write(f'#!{sys.executable}\nimport json, os\ninput()\n'
                           f'print(json.dumps(dict(cases=[], about=dict(openblas_core={choice}))), flush=True)\n')
            os.chmod(path, 0o755)
            context.commands[name] = path
        return context

    def started(self, context, name):
        self.programs.append(context.start(name, 1))
        return self.programs[-1].about['openblas_core']

    def test_one_core_type_for_all(self):
        context = self.context(reel='Haswell?', peer='Prescott?', fixed='Prescott')
        self.assertEqual([self.started(context, name) for name in ('reel', 'peer', 'reel')], ['Haswell'] * 3)
        with self.assertRaisesRegex(Failure, 'fixed uses OpenBLAS\'s kernels for Prescott, not Haswell'):
            context.start('fixed', 1)

    def commands_of_run(self, known):
        """What bench/run asks of Meson in a build folder whose build.ninja says `known`."""
        root = os.path.join(self.folder.name, 'tree')
        os.makedirs(os.path.join(root, 'bench'))
        os.makedirs(os.path.join(root, 'subprojects'))
        os.makedirs(os.path.join(root, 'build'))
        shutil.copy(os.path.join(ROOT, 'bench', 'run'), os.path.join(root, 'bench'))
        with open(os.path.join(root, 'build', 'build.ninja'), 'w') as file:
            file.write(known)
        log = os.path.join(root, 'log')
        for name in ('subprojects/setup', 'meson', 'ninja', 'python3'):
            path = os.path.join(root, name)
            with open(path, 'w') as file:
                file.write(f'#!/bin/sh\necho "{name} $*" >> "{log}"\n')
            os.chmod(path, 0o755)
        subprocess.run([os.path.join(root, 'bench', 'run')], check=True,
                       env=dict(os.environ, PATH=root + os.pathsep + os.environ['PATH'], BUILD='build'))
        with open(log) as file:
            return [line.strip() for line in file if line.startswith('meson')]

    def test_peers_installed_later_are_found(self):
        self.assertEqual(self.commands_of_run('build bench_adolc'),
                         ['meson configure build --clearcache', 'meson setup --reconfigure build'])

    def test_peers_that_are_there_cost_nothing(self):
        self.assertEqual(self.commands_of_run('build bench_adolc\nbuild bench_fftw\nbuild bench_libtorch'), [])


class Plot(unittest.TestCase):
    """The picture of the ratios, read as XML."""
    ROWS = [('1000 x mul on [1]', 1, 'libtorch', 48.0), ('matmul 1024^3', 1, 'libtorch', 4.0), ('matmul 1024^3', 1, 'Open<B>&"LAS"', 0.25),
            ('tanh f32, n = 1e7', 1, 'libtorch', 1.0), ('x*y|z', 2, 'libtorch', 1000.0), ('tape: record', 1, None, None),
            ('machine: read', 1, 'libtorch', 3.0)]

    def rows(self):
        return [{'name': name, 'threads': threads, 'peer': peer, 'ratio': ratio, 'unit': 'run', 'unit_count': 1, 'ours_ns': 2e3,
                 'peer_ns': ratio and 2e3 * ratio} for name, threads, peer, ratio in self.ROWS]

    def picture(self, rows):
        return ElementTree.fromstring(plot.svg({'date': '2026-01-02', 'machine': 'A & <B>', 'rows': rows}))

    def found(self, root, tag, kind=None):
        every = root.iter('{http://www.w3.org/2000/svg}' + tag)
        return [element for element in every if kind is None or kind in element.get('class', '').split()]

    def test_bars_lie_where_the_ratios_say(self):
        root = self.picture(self.rows())
        numbers = {element.text: float(element.get('x')) for element in self.found(root, 'text', 'middle')}
        self.assertEqual(set(numbers), {'1', '10', '100', '1000'})
        [one] = [float(line.get('x1')) for line in self.found(root, 'line', 'one')]
        decade = numbers['100'] - numbers['10']
        self.assertAlmostEqual(one, numbers['1'], delta=0.06)
        bars = self.found(root, 'rect', 'bar')
        ratios = [48, 4, 0.25, 1000, 1]  # by family: scalars, products, the rest, ops
        self.assertEqual(len(bars), len(ratios))
        for element, ratio in zip(bars, ratios):
            x, length = float(element.get('x')), abs(math.log10(ratio)) * decade
            self.assertAlmostEqual(float(element.get('width')), length, delta=0.5)
            self.assertAlmostEqual(x if ratio >= 1 else x + length, one, delta=0.5)
            self.assertTrue(element.get('class').endswith(f'peer{int(ratio == 0.25)}'))
        heights = [float(element.get('y')) for element in bars]
        self.assertTrue(all(b - a >= plot.BAR for a, b in zip(heights, heights[1:])), heights)

    def test_everything_lies_in_the_picture(self):
        root = self.picture(self.rows())
        width, height = float(root.get('width')), float(root.get('height'))
        self.assertEqual(root.get('viewBox'), f'0 0 {width:.0f} {height:.0f}')
        for element in self.found(root, 'text') + self.found(root, 'rect', 'bar'):
            x, y = float(element.get('x')), float(element.get('y'))
            letters = 0 if element.tag.endswith('rect') else plot.LETTER * len(element.text)
            left = x - letters * {'end': 1, 'middle': 0.5}.get(element.get('class'), 0)
            right = left + (letters or float(element.get('width')))
            self.assertTrue(left >= 0 and right <= width and 0 < y < height, (element.text, left, right, y))

    def test_names_are_text(self):
        root = self.picture(self.rows())
        texts = [element.text for element in self.found(root, 'text')]
        for name in ('Scalars', 'Matrix products and Jacobians', 'Ops', 'x*y|z, 2 threads', 'Open<B>&"LAS", geometric mean 0.25',
                     'libtorch, geometric mean 20.93'):
            self.assertIn(name, texts)
        self.assertEqual(texts.count('matmul 1024^3'), 1)
        self.assertNotIn('tape: record', texts)
        self.assertNotIn('machine: read', texts)
        self.assertIn('Measured 2026-01-02 on A & <B>. ', texts[1])
        tips = [element.text for element in self.found(root, 'title')]
        self.assertIn('matmul 1024^3, Open<B>&"LAS": reel 2 us, Open<B>&"LAS" 500 ns, ratio 0.25', tips)

    def test_needs_no_other_file_and_has_two_sets_of_colours(self):
        text = plot.svg({'rows': self.rows()})
        self.assertIn('@media (prefers-color-scheme:dark)', text)
        self.assertNotRegex(text.replace('http://www.w3.org/2000/svg', ''), 'http|href|url\\(|<script|@import')

    def test_few_and_odd_rows(self):
        self.assertEqual(self.found(self.picture([]), 'rect', 'bar'), [])
        odd = [{**row, 'ratio': ratio} for row, ratio in zip(self.rows(), (0, math.inf, math.nan))]
        self.assertEqual(self.found(self.picture(odd), 'rect', 'bar'), [])
        [differs] = self.found(self.picture([{**self.rows()[0], 'agree': False}]), 'text', 'quiet')[1:]
        self.assertEqual(differs.text, '48.00, results differ')
        self.assertEqual(plot.ticks(0.4, 25), [0.5, 1, 2, 5, 10, 20])
        self.assertEqual(plot.ticks(0.05, 2000), [0.1, 1, 10, 100, 1000])

    def run_from(self, file, *options):
        command = [sys.executable, os.path.join(ROOT, 'bench', 'driver', 'main.py'), '--from', file, *options]
        return subprocess.run(command, capture_output=True, text=True)

    def test_of_stored_rows(self):
        with tempfile.TemporaryDirectory() as folder:
            stored, picture = os.path.join(folder, 'rows.json'), os.path.join(folder, 'plot.svg')
            result = {'date': '2026-01-02', 'machine': 'one', 'command': 'bench/run', 'missing': [], 'about': {},
                      'rows': [{**row, 'ours_quartiles': None} for row in self.rows()]}
            with open(stored, 'w') as file:
                json.dump(result, file)
            ran = self.run_from(stored, '--plot', picture, '--filter', 'matmul|tape')
            self.assertEqual((ran.returncode, ran.stderr), (0, ''))
            self.assertIn('geometric mean of the ratios: 1.000', ran.stdout)
            self.assertEqual(len(self.found(ElementTree.parse(picture), 'rect', 'bar')), 2)

    def test_of_the_page(self):
        page = os.path.join(ROOT, 'bench', 'README.md')
        with tempfile.TemporaryDirectory() as folder:
            picture = os.path.join(folder, 'plot.svg')
            self.assertEqual(self.run_from(page, '--plot', picture).returncode, 0)
            with open(picture) as new, open(os.path.join(ROOT, 'bench', 'ratios.svg')) as old:
                self.assertEqual(new.read(), old.read(), 'bench/run --from bench/README.md --plot bench/ratios.svg draws it anew')
        self.assertIn('add --plot', self.run_from(page).stderr)

    def test_table_and_rows_give_the_same_bars(self):
        rows = [row for row in self.rows() if report.section(row['name']) != 'Ops']
        table = report.markdown({'date': '2026-01-02', 'machine': 'A & <B>', 'command': 'bench/run', 'rows': rows})
        read = report.from_markdown(f'<!-- speed table: begin -->\n{table}\n<!-- speed table: end -->')
        self.assertEqual((read['date'], read['machine'], read['command']), ('2026-01-02', 'A & <B>', 'bench/run'))
        wanted = [{key: row[key] for key in ('name', 'threads', 'peer', 'ratio')} for row in report.shown(rows)]
        self.assertEqual(read['rows'], wanted)
        bars = [[(b.get('x'), b.get('y'), b.get('width')) for b in self.found(self.picture(each), 'rect', 'bar')]
                for each in (rows, read['rows'])]
        self.assertEqual(*bars)


unittest.main()
