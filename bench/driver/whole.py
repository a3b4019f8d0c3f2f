"""Rows about whole programs: size of the library, time to compile a file that includes the header, start-up, memory.
Where the unit is bytes or allocations, that is what ours_ns and peer_ns hold."""
import glob
import os
import shutil
import subprocess
import tempfile
import time

import measure
import program

TORCH = '/usr/include/torch/csrc/api/include'
HEADERS = {'libtorch': ('torch/torch.h', ['-std=c++17', '-isystem', TORCH]), 'ADOL-C': ('adolc/adolc.h', ['-std=c++17'])}
LIBRARIES = {'libtorch': ['libtorch_cpu.so', 'libtorch.so', 'libc10.so'], 'ADOL-C': ['libadolc.so']}


def seconds(command, environment):
    began = time.perf_counter()
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - began) * 1e9


def alternate(ours, peer, count):
    """Samples of two functions in turn; where there are several, after one of each that is not counted."""
    if count > 1:
        ours()
        peer and peer()
    pairs = [(ours(), peer() if peer else None) for _ in range(count)]
    return [a for a, _ in pairs], [b for _, b in pairs] if peer else None


def compile_time(context, peer):
    """g++ -c of a file that includes the main header and defines an empty main; without a compiler cache."""
    with tempfile.TemporaryDirectory() as folder:
        def build(header, options):
            source = os.path.join(folder, 'main.cpp')
            with open(source, 'w') as file:
                file.write(f'#include <{header}>\nint main() {{}}\n')
            return seconds(['g++', '-c', source, '-o', os.path.join(folder, 'main.o')] + options,
                           dict(os.environ, CCACHE_DISABLE='1'))
        include = os.path.join(context.root, 'include')
        ours, peers = alternate(lambda: build('reel/reel.hpp', ['-std=c++20', '-I', include]),
                                (lambda: build(*HEADERS[peer])) if peer else None, 1 if context.quick else 9)
    return measure.make_row('seconds to compile a file that includes the main header', 1, ours, peer, peers, 1)


def stripped_size(paths):
    with tempfile.TemporaryDirectory() as folder:
        total = 0
        for path in paths:
            copy = os.path.join(folder, 'copy')
            shutil.copy(path, copy)
            subprocess.run(['strip', '--strip-unneeded', copy], check=True)
            total += os.path.getsize(copy)
    return total


def library_size(context, peer):
    ours = stripped_size([os.path.realpath(os.path.join(context.build, 'lib/libreel.so'))])
    peers = peer and [stripped_size([os.path.realpath(find(name)) for name in LIBRARIES[peer]])]
    return dict(measure.make_row('stripped library', 1, [ours], peer, peers, 1), unit='bytes')


def find(library):
    for folder in ['/usr/lib/*', '/usr/lib', '/usr/local/lib']:
        for path in glob.glob(os.path.join(folder, library + '*')):
            return path
    raise program.Failure(f'{library} is in none of the usual folders')


def start_up(context, peer):
    """From the start of a process to its end, after one gradient of a sum of squares."""
    environment = dict(os.environ, REEL_NUM_THREADS='1', OMP_NUM_THREADS='1', OPENBLAS_NUM_THREADS='1',
                       **context.environment)
    def run(name):
        return lambda: seconds([context.commands[name], 'first-gradient'], environment)
    ours, peers = alternate(run('reel'), run(peer) if peer else None, 5 if context.quick else 21)
    return measure.make_row('start-up to first gradient, whole process', 1, ours, peer, peers, 1)


def peak_bytes(context, case, peer):
    """What ten steps add at their peak to the resident memory of a process (VmHWM), parameters included. The process has
    taken a small gradient before, so that the code of the library is there."""
    def run(name):
        other = context.start(name, 1)
        try:
            other.run('sum(matmul) 32^3, gradient', 0.001)
            return other.ask(f'memory {case}')['bytes']
        finally:
            other.stop()
    row = measure.make_row(f'peak bytes, {case}', 1, [run('reel')], peer, [run(peer)] if peer else None, 1)
    return dict(row, unit='bytes')


def rows(context, peers):
    """Functions that make the rows, with their names."""
    context.steps = [name for name in context.ours_cases if name.startswith('MLP ')]
    result = []
    def add(name, function, *arguments):
        result.append((name, lambda: function(context, *arguments)))
    for peer in [name for name in ('libtorch', 'ADOL-C') if name in peers] or [None]:
        add('stripped library', library_size, peer)
        add('seconds to compile a file that includes the main header', compile_time, peer)
    torch = 'libtorch' if 'libtorch' in peers else None
    add('start-up to first gradient, whole process', start_up, torch)
    for case in context.steps:
        add(f'peak bytes, {case}', peak_bytes, case, torch)
    return result
