#!/usr/bin/env python3
"""What a training over MPI would take with other numbers of ranks, from the rounds of one that was run.

usage: simulate_ranks.py FILE [--points N]... [--threads T] [--tile N]
       simulate_ranks.py ONE.json SOME.json... [--threads T]

FILE is what `hinge-mpi train --rounds FILE` wrote, or that compressed by xz. Of each round, rows and the look at violations are work for each
example: they grow with the number of examples, and are dealt to ranks tile by tile. K_WW and the inner solve are made
by each rank alike. K_WW and rows are shared by a rank's threads, the inner solve is not. Messages are counted as
doc/mpi.md says; a collective of P ranks takes ceil(log2 P) steps of the network's latency (an allreduce two each), and
the bytes that each rank receives by its bandwidth. Rounds are taken to be as many for more examples, whose working sets
would really be others: the table says how ranks share the work of rounds, not how long a training takes.

ONE.json and SOME.json are what `hinge-mpi train --profile --json` told of one training of two classes whose rows are
shared: by one rank of one thread, whose seconds count, and by 2 ranks or more, whose calls and bytes do. The kernel
rows and their checks are dealt to ranks in tiles of the examples, of which the busiest rank has one more than others;
all else each rank does alike. Of the seconds, those of the inner solver and of what is around the rounds are one
thread's. As many calls are made by any number of ranks: an allreduce brings each 4,352 bytes, a gather what the other
ranks have. Of each SOME.json what it counted is told beside what that says.
"""
import argparse
import json
import lzma
import math

NETWORKS = [("10 GbE", 20e-6, 1.2e9), ("100 GbE", 3e-6, 12e9), ("InfiniBand", 1.5e-6, 24e9)]
RANKS = [1, 4, 16, 64, 256, 1024]
SHARED_RANKS = [1, 2, 8, 64, 1024]
ALLREDUCE, RECORD, IN_W = 4352, 104, 8  # bytes; a record's features come after it


def read(path):
    with (lzma.open if path.endswith(".xz") else open)(path, "rt", encoding="ascii") as file:
        names = file.readline().split()
        rounds = [dict(zip(names, map(float, line.split()))) for line in file]
    if not rounds:
        raise SystemExit(f"{path}: there are no rounds")
    return rounds


def told(r, ranks):
    """Bytes that a rank receives in a round, and how many collectives it takes."""
    record = RECORD + math.ceil(r["d"] * r["value_bytes"] / 8) * 8
    in_w = IN_W * max(r["q"] - r["fresh"], 0)
    share = r["fresh"] / ranks
    at_once = math.floor(1.25 * share + 4 * math.sqrt(share) + 4)
    if ranks == 1 or at_once > 2 * share:
        return ALLREDUCE + in_w + ranks * 8 + r["fresh"] * record, 2 if ranks == 1 else 3
    return ALLREDUCE + in_w + ranks * (8 + at_once * record), 2


def seconds(r, ranks, points, threads, tile, latency, bandwidth):
    """Of a round on so many ranks of so many threads each."""
    tiles = math.ceil(points / tile)
    share = min(math.ceil(tiles / ranks) * tile, points) / (r["n"] / r["ranks"])
    work = (r["rows"] + r["select"]) * share * r["threads"] / threads
    alike = r["block"] * r["threads"] / threads + r["solve"]
    if ranks == 1:
        return work + alike
    got, collectives = told(r, ranks)
    return work + alike + (collectives + 1) * math.ceil(math.log2(ranks)) * latency + got / bandwidth


def tiles_of(run):
    """The columns that ranks deal, in tiles: kernels/gram.c halves 512 columns until there are 16 tiles."""
    n, grain = run["distinct"], 512
    while grain > 64 and n < 16 * grain:
        grain //= 2
    return math.ceil(n / grain)


def busiest(tiles, ranks):
    return math.ceil(tiles / ranks) / tiles


def exchanged(some, part, ranks):
    """Bytes that all ranks receive in a part of the training, and that one does at most, by what `some` ranks have."""
    e = some["profile"]["ranks"][part]
    count, sums, tiles = some["profile"]["ranks"]["count"], ALLREDUCE * e["sums"], tiles_of(some)
    gathered = (e["bytes"] - count * sums) / (count - 1)
    if ranks == 1:
        return 0, 0
    return (ranks - 1) * gathered + ranks * sums, gathered * (1 - tiles // ranks / tiles) + sums


def shared_seconds(one, some, ranks, threads, latency, bandwidth):
    """Of a training on so many ranks, which begins with the rows on their way."""
    dealt = (one["seconds_rows"] + one["seconds_check"]) / threads
    alike = (one["seconds_select"] + one["seconds_block"] + one["seconds_newton"]) / threads
    alike += one["seconds_subproblem"] + one["profile"]["seconds_other"]
    if ranks == 1:
        return dealt + alike
    steps = sum(e["calls"] + e["sums"] for e in (some["profile"]["ranks"][part] for part in ("deal", "rounds")))
    got = sum(exchanged(some, part, ranks)[1] for part in ("deal", "rounds"))
    return dealt * busiest(tiles_of(one), ranks) + alike + steps * math.ceil(math.log2(ranks)) * latency + got / bandwidth


def simulate_shared(files, threads):
    runs = []
    for path in files:
        with open(path, encoding="utf-8") as file:
            runs.append(json.load(file))
    one, some = runs[0], runs[1]
    print(f"{one['n']} examples of {one['d']} features, {one['rounds']} rounds; ranks of {threads} threads\n")
    print("| ranks | calls | MB to all, counted | as 2 have it | busiest, counted | by tiles |\n" + "|--:" * 6 + "|")
    for run in runs[1:]:
        ranks = run["profile"]["ranks"]
        told, rounds = exchanged(some, "rounds", ranks["count"])[0], ranks["rounds"]
        print(f"| {ranks['count']} | {rounds['calls']} | {rounds['bytes'] / 1e6:.3f} | {told / 1e6:.3f} | "
              f"{100 * ranks['busiest']:.2f} % | {100 * busiest(tiles_of(run), ranks['count']):.2f} % |")
    print("\n| ranks | " + " | ".join(map(str, SHARED_RANKS)) + " |\n|---" + "|--:" * len(SHARED_RANKS) + "|")
    for name, latency, bandwidth in NETWORKS:
        took = [shared_seconds(one, some, p, threads, latency, bandwidth) for p in SHARED_RANKS]
        print(f"| {name} | " + " | ".join(f"{s:.3g} s" for s in took) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="+")
    parser.add_argument("--points", type=float, action="append", help="examples (those of FILE, 1e6, 1e7)")
    parser.add_argument("--threads", type=int, default=16, help="threads of a rank (16)")
    parser.add_argument("--tile", type=int, default=2048, help="examples dealt together (2048)")
    args = parser.parse_args()
    if args.file[0].endswith(".json"):
        simulate_shared(args.file, args.threads)
        return
    rounds = read(args.file[0])
    first = rounds[0]
    print(f"{len(rounds)} rounds of {first['n']:.0f} examples of {first['d']:.0f} features, q = {first['q']:.0f}; "
          f"ranks of {args.threads} threads")
    kilobytes = [sum(told(r, p)[0] for r in rounds) / len(rounds) / 1024 for p in RANKS[1:]]
    print("KB a round and rank: " + ", ".join(f"{b:.0f} ({p} ranks)" for b, p in zip(kilobytes, RANKS[1:])))
    alike = sum(r["solve"] + r["block"] * r["threads"] / args.threads for r in rounds) / len(rounds)
    print(f"alike on all ranks: {1000 * alike:.2f} ms a round\n")
    print("| examples | network | " + " | ".join(f"{p} ranks" for p in RANKS[1:]) + " |")
    print("|---" * (len(RANKS) + 1) + "|")
    for points in args.points or [first["n"], 1e6, 1e7]:
        for name, latency, bandwidth in NETWORKS:
            took = [sum(seconds(r, p, points, args.threads, args.tile, latency, bandwidth) for r in rounds)
                    for p in RANKS]
            shares = [100 * took[0] / (p * t) for p, t in zip(RANKS[1:], took[1:])]
            print(f"| {points:,.0f} | {name} | " + " | ".join(f"{s:.0f} %" for s in shares) + " |")


if __name__ == "__main__":
    main()
