"""The command line of the benchmark."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from protorynet.bench.catalogue import DATA_SETS, MODELS
from protorynet.errors import EncoderError, InputError

__all__ = ["main"]

_ABOUT = "Measure ProtoryNet against its ceiling, its floor and the paper's procedure."
_RUN = """\
Train every model on every data set with every seed, and append what came out to OUT/NAME.jsonl,
one line per job. A run that was stopped goes on where it was; a job that failed is tried again.

example:
  python -m protorynet.bench run --data DATA --sets imdb,hotel --encoders minilm,gte-small \\
      --judge minilm,gte-small --seeds 0,1,2 --out records
"""
_WRITE = """\
Write DOCS/results.md, DOCS/results/NAME.json and DOCS/frontier.svg from the records. No model is
needed. The text of DOCS/results-notes.md, where there is one, goes under "What falls short", so
that the page itself is never edited.

example:
  python -m protorynet.bench write --results records --docs docs
"""
_MODELS = "\n".join(f"  {kind.name:<16} {kind.title}" for kind in MODELS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0 done, 1 a job failed, 2 bad usage or input.

    Parameters
    ----------
    arguments
        The words after ``python -m protorynet.bench``; by default those of the command line.
    """
    try:
        options = _parser().parse_args(arguments)
        return _run(options) if options.command == "run" else _write(options)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 2
    except (InputError, EncoderError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"error: {error.strerror}: {error.filename}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stopped; the same command goes on from here", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m protorynet.bench", description=_ABOUT)
    commands = parser.add_subparsers(dest="command", required=True)
    layout = argparse.RawDescriptionHelpFormatter
    run = commands.add_parser(
        "run",
        help="train and measure",
        description=_RUN,
        epilog=f"models:\n{_MODELS}",
        formatter_class=layout,
    )
    add = run.add_argument
    add("--data", type=Path, required=True, help="folder of NAME.parquet: text, label, split")
    add("--out", type=Path, required=True, help="folder of the records")
    sets = tuple(each.name for each in DATA_SETS)
    models = tuple(kind.name for kind in MODELS)
    _add_list(run, "sets", sets, "data sets, joined by commas; by default the paper's eight")
    _add_list(run, "encoders", ("minilm",), "names or paths of encoders; by default minilm")
    _add_list(run, "models", models, "models; by default all those listed below")
    _add_list(
        run, "judge", (), "encoders that judge matches; the first not the model's own is asked"
    )
    add("--seeds", type=_whole_numbers, default=(0, 1, 2), metavar="NUMBERS", help="default 0,1,2")
    add("--device", default="auto", help="auto, cpu or cuda")
    add("--quick", action="store_true", help="hardly train at all, to see that everything works")
    write = commands.add_parser(
        "write", help="write the pages", description=_WRITE, formatter_class=layout
    )
    write.add_argument("--results", type=Path, required=True, help="folder of the records")
    write.add_argument("--docs", type=Path, required=True, help="folder of the pages")
    return parser


def _add_list(
    parser: argparse.ArgumentParser, name: str, default: tuple[str, ...], about: str
) -> None:
    parser.add_argument(f"--{name}", type=_words, default=default, metavar="NAMES", help=about)


def _run(options: argparse.Namespace) -> int:
    from protorynet.bench.jobs import Plan
    from protorynet.bench.running import run_plan

    plan = Plan(
        data=options.data,
        out=options.out,
        sets=options.sets,
        encoders=options.encoders,
        models=options.models,
        seeds=options.seeds,
        judges=options.judge,
        device=options.device,
        quick=options.quick,
    )
    failed = run_plan(plan)
    if failed:
        print(f"error: {failed} jobs failed; the same command tries them again", file=sys.stderr)
    return 1 if failed else 0


def _write(options: argparse.Namespace) -> int:
    from protorynet.bench.writing import write_results

    for path in write_results(options.results, options.docs):
        print(os.fspath(path))
    return 0


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _whole_numbers(text: str) -> tuple[int, ...]:
    numbers = tuple(int(word) for word in _words(text))
    if any(number < 0 for number in numbers):
        raise argparse.ArgumentTypeError(f"{text!r} should be whole numbers of at least 0")
    return numbers
