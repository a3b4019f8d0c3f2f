"""A benchmark program at the other end of two pipes; it speaks bench/common/protocol.hpp."""
import glob
import json
import os
import select
import subprocess
import time


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

    def processor_time(self):
        """Of the process, in ns. Linux counts it for each thread."""
        used = 0
        for file in glob.glob(f'/proc/{self.process.pid}/task/*/schedstat') if self.process else []:
            try:
                with open(file) as text:
                    used += int(text.read().split()[0])
            except OSError:
                pass  # the thread has ended
        return used

    def settle(self):
        """Waits until its threads sleep. Idle threads of OpenBLAS and OpenMP spin first, for up to 0.1 s, on a processor that
        another program may need."""
        for _ in range(30):
            used = self.processor_time()
            time.sleep(0.01)
            if self.processor_time() == used:
                break

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
