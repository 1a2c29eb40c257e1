"""From a spec to servers that are verified, and what is done while they run: what ``launch`` does once preflight let
it pass."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from sm120kit.cli.interrupts import Interrupts
from sm120kit.cli.live_table import Progress, say
from sm120kit.cli.output import encoding_of, terminal, write_result
from sm120kit.errors import FINDINGS, GOOD, INTERRUPTED, Sm120kitError
from sm120kit.fleet.notify import Notifier
from sm120kit.fleet.settled import all_failed, ended_as_asked, settled

if TYPE_CHECKING:
    from sm120kit.fleet.spec import FleetSpec
    from sm120kit.fleet.supervising import Attached
    from sm120kit.fleet.types import Fleet

_LOOK_S = 0.1


def launch(spec: FleetSpec, *, detach: bool, as_json: bool, verbose: bool) -> int:
    """Start the servers of ``spec``, show how they come up, and judge them; then go (``detach``) or stand by.

    Ctrl-C and SIGTERM end all of it first; whatever ends this process without :meth:`Attached.detach` makes the
    supervisor do the same.
    """
    from sm120kit.fleet.supervising import start

    notifier = Notifier()
    with Interrupts() as interrupts:
        attached = start(spec)
        standing = _Standing(attached, interrupts, notifier, as_json=as_json, verbose=verbose)
        fleet = standing.wait_until(settled, Progress(), starting=True)
        if interrupts.asked:
            return standing.end(spec.limits.drain, INTERRUPTED, fleet)
        if fleet.ended or not (fleet.verified or spec.keep):
            return standing.end(spec.limits.drain, FINDINGS, fleet)
        if detach:
            attached.detach()
            failed = standing.report(attached.fleet(), fleet)
            say(f"sm120kit: {spec.name} runs on by itself; sm120kit stop {spec.name} ends it")
            return failed or (GOOD if fleet.verified else FINDINGS)
        standing.report(fleet, fleet)
        return _stand_by(standing, spec, fleet)


def watch(fleet: Fleet, *, as_json: bool, verbose: bool) -> int:
    """Show how a fleet comes up that somebody else launched, and judge it. Ctrl-C ends the watching alone."""
    from sm120kit.fleet.state import folder_of
    from sm120kit.fleet.supervising import wait_for_change

    owner = f"process {fleet.supervisor.pid}" if fleet.supervisor else "nobody"
    say(f"sm120kit: {fleet.name} runs already with these settings, watched by {owner}; it is left to it")
    progress = Progress()

    def seen(now: Fleet) -> bool:
        progress.show(now)
        return settled(now)

    judged = wait_for_change(folder_of(fleet.name), seen) or fleet
    progress.clear()
    failed = _print(judged, judged, as_json=as_json, verbose=verbose)
    return failed or (GOOD if judged.verified else FINDINGS)


def _stand_by(standing: _Standing, spec: FleetSpec, fleet: Fleet) -> int:
    """Say what happens, until somebody ends it or nothing runs any more."""
    if fleet.verified:
        standing.notifier.ready()
    say(f"sm120kit: {spec.name} runs as long as this command does; Ctrl-C ends it")
    last = standing.wait_until(all_failed, Progress(seen=fleet, table=False))
    if standing.interrupts.asked:
        return standing.end(spec.limits.drain, INTERRUPTED, last, quiet=True)
    if ended_as_asked(last):
        say(f"sm120kit: {spec.name} was stopped")
        return GOOD if fleet.verified else FINDINGS
    return standing.end(spec.limits.drain, FINDINGS, last, quiet=standing.as_json)


class _Standing:
    """A launch that we stand by."""

    def __init__(
        self, attached: Attached, interrupts: Interrupts, notifier: Notifier, *, as_json: bool, verbose: bool
    ) -> None:
        self._attached = attached
        self.interrupts, self.notifier = interrupts, notifier
        self.as_json, self._verbose = as_json, verbose

    def wait_until(self, until: Callable[[Fleet], bool], progress: Progress, *, starting: bool = False) -> Fleet:
        """Show the fleet until it is so, has ended, or we are to end.

        Raises:
            Sm120kitError: while it starts, nothing of it can be written down any more. Later a full disk ends nothing.
        """
        while True:
            fleet = self._attached.fleet()
            progress.show(fleet)
            self.notifier.status(_status(fleet))
            if self.interrupts.asked or fleet.ended or until(fleet):
                progress.clear()
                return fleet
            if starting:
                self._attached.refuse_unwritten(fleet)
            time.sleep(_LOOK_S)

    def end(self, drain_s: float, code: int, judged: Fleet, *, quiet: bool = False) -> int:
        """End everything, say what came of it, and return ``code``. ``quiet``: the result was written before."""
        self.notifier.stopping()
        if not judged.ended:
            say(f"sm120kit: ending all servers; they get {drain_s:g} s")
        ended = self._attached.stop(drain_s)
        if quiet:
            from sm120kit.report.fleet_end import end_lines

            for line in end_lines(ended):
                say(line)
        else:
            self.report(ended, judged)
        return code

    def report(self, now: Fleet, judged: Fleet) -> int:
        """Write the result: as data the fleet as it is now, for people as it was judged, and what is left of it. Where
        it cannot be written, the exit code for that is returned, else 0."""
        return _print(now, judged, as_json=self.as_json, verbose=self._verbose)


def _print(now: Fleet, judged: Fleet, *, as_json: bool, verbose: bool) -> int:
    """What cannot be written ends no server: it is said, where it can be seen again, and told by the exit code."""
    try:
        write_result(_result(now, judged, as_json=as_json, verbose=verbose))
    except Sm120kitError as error:
        say(f"sm120kit: {error.message}")
        say(f"  See how it stands with: sm120kit status {judged.name}")
        return error.exit_code
    return 0


def _result(now: Fleet, judged: Fleet, *, as_json: bool, verbose: bool) -> str | bytes:
    if as_json:
        from sm120kit.text import encode_json

        return encode_json(now)
    from sm120kit.report.fleet import render_summary
    from sm120kit.report.fleet_end import end_lines

    width, colour = terminal()
    remarks = end_lines(now) if now.ended else ()
    return render_summary(
        judged, time.time(), width=width, colour=colour, verbose=verbose, encoding=encoding_of(), remarks=remarks
    )


def _status(fleet: Fleet) -> str:
    from sm120kit.report.fleet_words import one_line

    return one_line(fleet)
