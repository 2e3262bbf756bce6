"""Pytest plugin: processor seconds of tests, files and shared fixtures.

All threads and ended child processes count, so the figures mean something on a busy machine. The
dearest tests and those above LISTED seconds are always shown; `--most-percent` fails a run of which
one test takes more than that, on fast and slow machines alike, and `--processor-seconds` adds a
table of files and shared fixtures. Seconds of a fixture that is shared by several tests count as
the fixture's, not as those of the first test.
"""

import contextlib
import resource
import time
from collections import Counter

import pytest

LISTED, DEAREST = 5.0, 10
"""Processor seconds above which every test is shown; number of tests shown in any case."""
LEAST = 0.5
"""Processor seconds below which a file or fixture is left out of the table."""
PROPERTY = "processor_seconds"


def pytest_addoption(parser):
    group = parser.getgroup("processor seconds")
    group.addoption(
        "--processor-seconds", action="store_true", help="show files and shared fixtures, too"
    )
    group.addoption(
        "--most-percent", type=float, metavar="P", help="fail if a test takes over P %% of the run"
    )


def pytest_configure(config):
    config.pluginmanager.register(ProcessorSeconds(config), "processor_seconds_of_tests")


class ProcessorSeconds:
    """Measures in each worker process; collects where results are shown.

    Args:
        config: of pytest.
    """

    def __init__(self, config):
        self.config, self.inside = config, []
        self.test, self.fixtures = 0.0, Counter()
        self.tests, self.shared = Counter(), Counter()

    def pytest_runtest_logstart(self):
        self.test, self.fixtures = 0.0, Counter()

    @contextlib.contextmanager
    def measured(self, fixture=None):
        """Adds the seconds inside to a fixture or the test, less those measured further inside."""
        self.inside.append(0.0)
        begin = _now()
        try:
            yield
        finally:
            seconds = _now() - begin
            without = seconds - self.inside.pop()
            if self.inside:
                self.inside[-1] += seconds
            if fixture is None:
                self.test += without
            else:
                self.fixtures[fixture] += without

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef, request):
        if fixturedef.scope == "function":
            yield
            return
        with self.measured(f"{fixturedef.baseid or 'session'}::{fixturedef.argname}"):
            yield

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_setup(self, item):
        with self.measured():
            yield

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item):
        with self.measured():
            yield

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_teardown(self, item):
        with self.measured():
            yield
        item.user_properties.append((PROPERTY, [self.test, dict(self.fixtures)]))

    def pytest_runtest_logreport(self, report):
        """Collects what a worker process has measured."""
        measured = dict(report.user_properties).get(PROPERTY)
        if report.when == "teardown" and measured:
            self.tests[report.nodeid] += measured[0]
            self.shared.update(measured[1])

    def pytest_sessionfinish(self, session):
        is_worker = hasattr(self.config, "workerinput")
        if self._above() and not is_worker and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter):
        terminalreporter.section(f"{self._total():.0f} processor seconds, without collection")
        for place, (name, seconds) in enumerate(self.tests.most_common()):
            if place < DEAREST or seconds > LISTED:
                terminalreporter.write_line(f"{seconds:7.1f} s  {name}")
        if self.config.getoption("--processor-seconds"):
            files = Counter()
            for name, seconds in (*self.tests.items(), *self.shared.items()):
                files[name.split("::")[0]] += seconds
            for title, table in (("file", files), ("fixture", self.shared)):
                for name, seconds in table.most_common():
                    if seconds >= LEAST:
                        terminalreporter.write_line(f"{seconds:7.1f} s  {title} {name}")
        for name in self._above():
            terminalreporter.write_line(f"FAILED {name}: too great a part of the run")

    def _total(self):
        return self.tests.total() + self.shared.total()

    def _above(self):
        percent = self.config.getoption("--most-percent")
        most = self._total() * percent / 100 if percent else float("inf")
        return [name for name, seconds in self.tests.items() if seconds > most]


def _now():
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime
