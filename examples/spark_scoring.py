"""Score a table with Spark: every partition is read, scored and written where it lies.

The model folder must be at the same path on every machine, and protorynet be installed there::

    spark-submit examples/spark_scoring.py MODEL INPUT.parquet OUTPUT --text review
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from protorynet.inference import open_predictor

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Spark's own 10,000 rows are many for long documents.
_ROWS_AT_ONCE = 4_096


def score_frame(frame: DataFrame, model: Path, *, text: str, skip_empty: bool = False) -> DataFrame:
    """Return a frame with the columns that predictions have beside its own."""
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

    model = model.absolute()  # executors run in folders of their own
    predictor = open_predictor(model, cache=False)
    schema = from_arrow_schema(predictor.output_schema(to_arrow_schema(frame.schema), text=text))
    return frame.mapInArrow(_scoring(model, text, skip_empty), schema)


def _scoring(
    model: Path, text: str, skip_empty: bool
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def score_partition(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # Once for a partition, so partitions should hold thousands of rows.
        predictor = open_predictor(model, cache=False)
        for batch in batches:
            yield predictor.score_batch(batch, text=text, skip_empty=skip_empty)

    return score_partition


def main() -> None:
    """Read a Parquet table, score it, and write a folder of Parquet files."""
    from pyspark.sql import SparkSession

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("input")
    parser.add_argument("output")
    parser.add_argument("--text", default="text")
    parser.add_argument("--skip-empty", action="store_true")
    given = parser.parse_args()
    spark = (
        SparkSession.builder.appName("protorynet")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", _ROWS_AT_ONCE)
        # One core for each task, so its libraries should not start a thread for every core.
        .config("spark.executorEnv.OMP_NUM_THREADS", "1")
        .getOrCreate()
    )
    frame = spark.read.parquet(given.input)
    scored = score_frame(frame, given.model, text=given.text, skip_empty=given.skip_empty)
    scored.write.parquet(given.output)
    spark.stop()


if __name__ == "__main__":
    main()
