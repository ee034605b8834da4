"""Times, their medians, and tables of them."""
import statistics
import time


def p95(times):
    return sorted(times)[max(0, round(len(times) * 0.95) - 1)]


def timed(call):
    """Milliseconds of one call."""
    start = time.monotonic()
    call()
    return (time.monotonic() - start) * 1000


def measure(call, rounds=40, before=lambda: None):
    """Milliseconds of each round without what is done before it; the first call warms up."""
    before()
    call()
    times = []
    for _ in range(rounds):
        before()
        times.append(timed(call))
    return times


def table(title, head, rows):
    cells = [head] + [[str(c) for c in row] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    print(f"\n{title}")
    for row in cells:
        print("  " + "  ".join(c.ljust(w) if i == 0 else c.rjust(w)
                               for i, (c, w) in enumerate(zip(row, widths))).rstrip(), flush=True)


VERSUS = ["", "median", "p95", "other", "median", "p95", "times faster"]


def versus(name, ours, tool, theirs):
    """A row that compares two lists of times; the ratio tells how many times faster ours is."""
    ratio = statistics.median(theirs) / statistics.median(ours)
    return [name, f"{statistics.median(ours):.2f}", f"{p95(ours):.2f}", tool,
            f"{statistics.median(theirs):.1f}", f"{p95(theirs):.1f}", f"{ratio:.1f}"]


def alone(name, ours):
    """A row without anything beside it."""
    return [name, f"{statistics.median(ours):.2f}", f"{p95(ours):.2f}", "", "", "", ""]
