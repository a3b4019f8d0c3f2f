"""A benchmark program at the other end of two pipes; it speaks bench/common/protocol.hpp."""
import json
import os
import select
import subprocess


class Failure(Exception):
    """The program answered with an error, died, or took too long."""


class Program:
    def __init__(self, name, command, threads, environment=None, timeout=300):
        self.name, self.command, self.threads, self.timeout = name, command, threads, timeout
        self.environment = environment or {}
        self.process = None
        known = self.ask('list')
        self.cases, self.about = {case['name']: case for case in known['cases']}, known.get('about', {})

    def start(self):
        # Each library is told the number of threads in its own way.
        count = str(self.threads)
        environment = dict(os.environ, REEL_NUM_THREADS=count, OMP_NUM_THREADS=count, OPENBLAS_NUM_THREADS=count,
                           **self.environment)
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()
            self.process = None

    def ask(self, line):
        """The answer to a line, as a dict. The program is started when it does not run."""
        if not self.process:
            self.start()
        try:
            self.process.stdin.write((line + '\n').encode())
            self.process.stdin.flush()
            ready, _, _ = select.select([self.process.stdout], [], [], self.timeout)
            text = self.process.stdout.readline() if ready else b''
        except BrokenPipeError:
            text = b''
        if not text:
            self.stop()
            raise Failure(f'{self.name}: no answer to "{line}"')
        answer = json.loads(text)
        if 'error' in answer:
            raise Failure(f'{self.name}: {answer["error"]}')
        return answer

    def run(self, name, seconds):
        return self.ask(f'run {name} {seconds}')
