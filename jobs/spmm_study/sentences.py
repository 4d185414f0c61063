"""The results of a study, in sentences made from its outcomes."""
from dataclasses import replace

from . import series, tables
from .outcome import GAIN, SLOWER, causes, fastest_steps, is_disturbed, is_noisy, noise, unexplained
from .records import namespaces_name

# below this efficiency the sentence names the cause
LITTLE = 0.5
MOST_SENTENCES = 8


def _list(words):
    words = list(map(str, words))
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def _span(values, form="{:.2f}"):
    low, high = form.format(min(values)), form.format(max(values))
    return low if low == high else f"{low} to {high}"


def _reason(found):
    """Why the result with the least speed-up scales badly, as the end of a sentence."""
    worst = min(found, key=lambda o: o.speedup)
    told = [unexplained(worst)] if is_disturbed(worst) else []
    if (worst.waiting_rows or 0) > 0.5:
        told.append(f"{100 * worst.waiting_rows:.0f} % of its rows wait for received ones")
    at = f" at K = {worst.k}" if len(found) > 1 else ""
    told += [f"{100 * part:.0f} % of the time{at} goes to {cause}" for cause, part in causes(worst)[:1] if cause != SLOWER]
    told = told or [text for text in [unexplained(worst)] if text]
    return ": " + ", and ".join(told) if told else ", and the records do not say why"


def _from_what(o):
    return f"the second {o.over[:-1]}" if o.size == 2 else f"{o.place} over one"


def _at(found):
    return f"K = {_list(o.k for o in found)}"


def _unknown_sentence(problem, found):
    bounds = [o.speedup_bounds for o in found]
    return (f"{problem}: whether it is faster on {found[-1].place} than on one at {_at(found)}, the times cannot tell "
            f"({min(low for low, _ in bounds):.2f} to {max(high for _, high in bounds):.2f} times as fast by their 95 % intervals)")


def _strong_sentence(problem, found):
    stuck = [o for o in found if o.speedup <= GAIN]
    faster = [o for o in found if o.speedup > GAIN]
    last = found[-1]
    if not stuck:
        text = (f"{problem} is {_span([o.speedup for o in found])} times as fast on {last.place} as on one ({_at(found)}; "
                f"efficiency {_span([o.efficiency for o in found])})")
        bad = [o for o in found if o.efficiency < LITTLE]
        return text + (_reason(bad) if bad else "")
    slower = all(o.is_slower for o in stuck)
    what = f"is slower on {last.place} than on one" if slower else f"gains nothing from {_from_what(last)}"
    text = f"{problem} {what} at {_at(stuck)} ({_span([o.speedup for o in stuck])} times as fast){_reason(stuck)}"
    return text + (f"; at {_at(faster)} it is {_span([o.speedup for o in faster])} times as fast" if faster else "")


def _weak_sentence(problem, found):
    text = (f"{problem}, which grows with the ranks, keeps {_span([100 * o.efficiency for o in found], '{:.0f}')} % of its "
            f"speed per rank on {found[-1].place} ({_at(found)})")
    bad = [o for o in found if o.efficiency < LITTLE]
    return text + (_reason(bad) if bad else "")


def _scaling(outcomes):
    scaled = [o for o in outcomes if o.speedup is not None and o.size > 1]
    groups = series.by_key(scaled, lambda o: (o.machine, o.problem, o.precision, o.size, o.over))
    several = len({(machine, precision) for machine, _, precision, _, _ in groups}) > 1
    found = []
    for (machine, problem, precision, *_), members in groups.items():
        name = f"{problem} ({precision}, {machine})" if several else problem
        told = [o for o in members if o.is_told]
        if told:
            found.append((_weak_sentence if told[0].is_weak else _strong_sentence)(name, told))
        if len(told) < len(members):
            found.append(_unknown_sentence(name, [o for o in members if not o.is_told]))
    return found


def _winners(sweep, told):
    """{kernel: the K at which it is the fastest}, without a K of which all points are noisy. If the table of outcomes has a point of this sweep for a K, that is the
    fastest. told: ids of the table's points."""
    found = {}
    for k in sweep.columns:
        points = {name: p for name, line in sweep.lines.items() for p in line if p.k == k}
        if all(map(is_noisy, points.values())):
            continue
        best = next((name for name, p in points.items() if id(p) in told), None) or \
            max(points, key=lambda name, points=points: points[name].gflops)
        found.setdefault(best, []).append(k)
    return found


def _rates_text(sweep, winners):
    """For example: kernel1 at K = 1 and 8 (2 and 4 GFLOP/s); kernel2 at K = ..."""
    rates = {(name, p.k): p.gflops for name, line in sweep.lines.items() for p in line}
    return "; ".join(f"{name} at K = {_list(ks)} ({_list(tables.significant(rates[name, k]) for k in ks)} GFLOP/s)"
                     for name, ks in winners.items())


def _faster_serial(sweep, parallel):
    """"" unless, at some K, a serial product is faster than all other kernels: then a part of a sentence."""
    found, serial = {}, [(name, p) for name, line in sweep.lines.items() for p in line if p.is_serial]
    for name, p in sorted(serial, key=lambda item: (item[1].k, -item[1].gflops)):
        rivals = [q.gflops for line in parallel.lines.values() for q in line if q.k == p.k]
        if rivals and p.gflops > max(rivals) and not any(p.k in ks for ks in found.values()):
            found.setdefault(name, []).append(p.k)
    return "; the serial product is faster: " + _rates_text(sweep, found) if found else ""


def _parallel(sweep):
    """The sweep without serial products, with which the others are compared; the table has no rows for them."""
    lines = {name: [p for p in line if not p.is_serial] for name, line in sweep.lines.items()}
    return replace(sweep, lines={name: line for name, line in lines.items() if line})


def _steady(sweep):
    """(kernel, its least share of the best) for the kernel with the greatest least share, among those run at every K."""
    shares = series.shares_of_best(sweep)
    whole = {name: min(of.values()) for name, of in shares.items() if len(of) == len(sweep.columns)}
    return max(whole.items(), key=lambda item: item[1], default=None)


def _compared(sweeps):
    """Sweeps in which several kernels other than serial products ran at some K; for each problem the one on the most ranks."""
    groups = series.by_key([s for s in sweeps if max(
        len({p.kernel for line in s.lines.values() for p in line if p.k == k and not p.is_serial}) for k in s.columns) > 1],
        lambda s: (s.machine, s.matrix, s.precision))
    return [max(members, key=lambda s: s.ranks) for members in groups.values()]


def _kernels(sweeps, outcomes):
    found, told = [], {id(o.point) for o in outcomes}
    for whole in _compared(sweeps):
        s = _parallel(whole)
        winners = _winners(s, told)
        if not winners:
            continue
        text = f"{s.matrix} ({s.precision}, {s.ranks} rank{'s' * (s.ranks != 1)}): the fastest " \
               f"{'are' if len(winners) > 1 else 'is'} {_rates_text(s, winners)}"
        steady = _steady(s)
        if steady and len(winners) > 1:
            text += f"; {steady[0]} has at least {100 * steady[1]:.0f} % of the best at every K"
        found.append(text + _faster_serial(whole, s))
    return found


def _rates(outcomes):
    """Sentences with the best rate of each problem, if there is nothing else to report."""
    found = []
    for (problem, precision, machine), members in series.by_key(
            [o for o in outcomes if not is_noisy(o.point)], lambda o: (o.problem, o.precision, o.machine)).items():
        best = max(members, key=lambda o: o.point.gflops)
        found.append(f"{problem}, {precision}: at most {tables.significant(best.point.gflops)} GFLOP/s, at K = {best.k} by "
                     f"{best.point.kernel} on {best.place} of {machine}")
    return found


def _steps(measurements):
    """A sentence per measurement."""
    found = []
    for m in measurements:
        best = fastest_steps(m)
        if not best:
            continue
        told = [f"{p.step} takes {tables.ms(p.spread.median)} ms by {p.kernel}" + (f" on {p.ranks} ranks" if p.ranks > 1 else "")
                for p in best]
        faster = [m.speedup(p) for p in best]
        than = f"; that is {_list(tables.significant(s, 3) for s in faster)} times as fast as the sequential program" \
            if all(faster) else ""
        found.append(f"{m.title}: " + _list(told) + than)
    return found


def missed_points(study):
    """(number of points that the full cost model misses, number of points compared with it), on more than one rank."""
    found = {id(p): (p, series.models(one, p, study.points)) for g in study.strong for one in g.series
             for p in one.points if p.ranks > 1}
    told = [(p, made) for p, made in found.values() if made.complete is not None]
    return sum(made.missed(p) for p, made in told), len(told)


def _namespaces(environments):
    """What records with network namespaces for hosts can show, and what they cannot."""
    return [f"{namespaces_name(count)} are hosts of one machine, whose cores and memory they share. Results, "
            f"bytes that cross between the hosts, and transports are as on {count} machines. Times and "
            "speed-ups tell nothing of a network: what crosses is copied within the machine's memory."
            for count in sorted({e["namespaces"] for e in environments.values() if e.get("namespaces")})]


def of(study, outcomes):
    """Sentences on what the records cannot show, on the results, and on their reliability."""
    found = _scaling(outcomes)
    compared = _kernels(study.sweeps, outcomes) if len(found) < MOST_SENTENCES else []
    found += compared
    if not found:
        found = _rates(outcomes)
    found += _steps(study.steps)
    left = len(found) - MOST_SENTENCES
    found = [text + "." for text in found[:MOST_SENTENCES]]
    if left > 0:
        found.append(f"{left} more results are in the table{'s' if study.steps else ''}.")
    missed, told = missed_points(study)
    if missed:
        found.append(f"The cost model misses {missed} of {told} times on several ranks by more than "
                     f"{100 * series.MISS:.0f} %; they are marked.")
    # if most times are noisy, the sentence on noise is the first
    told = [p for p in study.measured if p.spread.width is not None]
    found.insert(0 if 2 * sum(map(is_noisy, told)) > len(told) else len(found), noise(study.measured))
    failed, runs = len(study.records.failures), study.records.runs
    found.append(f"Failed runs: {failed} of {runs}; they are left out of these results." if failed else
                 f"None of the {runs} runs failed." if runs else None)
    return _namespaces(study.records.environments) + [text for text in found if text]
