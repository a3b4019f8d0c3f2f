"""Rows: two programs in alternation, medians and quartiles of their samples, and whether their results agree."""
import math
import statistics
from dataclasses import dataclass


@dataclass
class Effort:
    """How much is measured: samples of at least so many seconds; fewer samples, not below `least`, where a run is long."""
    samples: int
    seconds: float
    least: int
    budget: float  # seconds per program and row


FULL = Effort(samples=9, seconds=0.05, least=9, budget=math.inf)
QUICK = Effort(samples=5, seconds=0.005, least=3, budget=0.25)


def quartiles(samples):
    """First quartile, median, third quartile."""
    if len(samples) < 2:
        return [samples[0]] * 3
    low, _, high = statistics.quantiles(samples, n=4, method='inclusive')
    return [low, statistics.median(samples), high]


def agree(ours, peers, tolerance):
    """Whether two checksums are those of one result; None where there is nothing to compare."""
    if ours is None or peers is None or not tolerance:
        return None
    return abs(ours - peers) <= tolerance * max(abs(ours), abs(peers), 1e-30)


def alternate(name, programs, effort):
    """Per program the samples in ns, and its last answer. The first run of each warms up and is not counted."""
    def sample(program):
        for other in programs:
            if other is not program and other.threads > 1:
                other.settle()
        return program.run(name, effort.seconds)

    answers = [sample(program) for program in programs]
    longest = max(answer['ns'] for answer in answers) * 1e-9
    fit = effort.samples if math.isinf(effort.budget) else int(effort.budget / max(longest, effort.seconds))
    samples = [[] for _ in programs]
    for _ in range(max(effort.least, min(effort.samples, fit))):
        for i, program in enumerate(programs):
            answers[i] = sample(program)
            samples[i].append(answers[i]['ns'])
    return samples, answers


def make_row(name, threads, ours, peer, peers, unit_count):
    """The row of a name. ours and peers are samples; peers is None where there is no peer."""
    low, middle, high = quartiles(ours)
    row = {'name': name, 'threads': threads, 'ours_ns': middle, 'peer': peer, 'peer_ns': None, 'ratio': None,
           'unit_count': unit_count, 'unit': 'run', 'ours_quartiles': [low, high], 'samples': len(ours)}
    if peers is not None:
        low, middle, high = quartiles(peers)
        row.update(peer_ns=middle, ratio=middle / row['ours_ns'] if row['ours_ns'] else None, peer_quartiles=[low, high])
    return row


def measure(name, ours, peer, effort):
    """The row of one case of ours, beside a peer's or (None) alone."""
    case = ours.cases[name]
    if case['operands']:
        for program in [ours] + [peer] * bool(peer):
            program.ask('operands ' + case['operands'])
    samples, answers = alternate(name, [ours] + [peer] * bool(peer), effort)
    row = make_row(name, ours.threads, samples[0], peer.name if peer else None, samples[1] if peer else None,
                   case['unit_count'])
    row['unit'] = case['unit']
    if peer:
        row['agree'] = agree(answers[0]['check'], answers[1]['check'], case['tolerance'])
        row['checksums'] = [answer['check'] for answer in answers]
    if case['bytes']:
        row['gb_per_s'] = case['bytes'] / row['ours_ns']
    if case['flops']:
        row['gflop_per_s'] = case['flops'] / row['ours_ns']
    row.update({key: value for key, value in answers[0].items() if key not in ('ns', 'check')})
    return row


def add_fractions(rows):
    """What part of the machine's bandwidth, and of the rate of the same kernel in L1, the ops reach."""
    rate = {(row['threads'], row['name']): row['gb_per_s'] for row in rows if row['name'].startswith('machine: ')}
    in_l1 = {}
    for row in rows:
        if row['name'].endswith(', n = 1e3'):
            in_l1.setdefault((row['threads'], row['name'][:-9]), row['ours_ns'] / row['unit_count'])
    for row in rows:
        if 'gb_per_s' not in row or row['name'].startswith('machine: '):
            continue
        best = max((value for (threads, _), value in rate.items() if threads == row['threads']), default=None)
        if best:
            row['of_bandwidth'] = row['gb_per_s'] / best
        each = in_l1.get((row['threads'], row['name'][:-9]))
        if each:
            row['of_l1'] = each / (row['ours_ns'] / row['unit_count'])
