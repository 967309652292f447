#!/usr/bin/env python3
"""Draws the week of earthquakes that lies in a journal: python demo/map.py JOURNAL PICTURE.

Consumes the stream with a group of its own, `map`, through a producer, which renews what it gave as long as the drawing
takes. What it takes is acked when the picture is written: killed before, it takes everything again. A second run finds
nothing to do and says so.
"""

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.dates as mdates
from matplotlib import pyplot as plt

import rheo


def draw(earthquakes: list[dict[str, Any]], picture: Path) -> None:
    """A map of the world above, the magnitudes over the week below."""
    figure, (world, week) = plt.subplots(2, figsize=(10, 8), height_ratios=(3, 1), layout="constrained")
    magnitudes = [each["mag"] or 0.0 for each in earthquakes]
    sizes = [1.8 ** max(magnitude, 0.0) * 2 for magnitude in magnitudes]
    places = [each["longitude"] for each in earthquakes], [each["latitude"] for each in earthquakes]
    dots = world.scatter(
        *places, s=sizes, c=[each["depth"] or 0.0 for each in earthquakes], cmap="viridis_r", alpha=0.6
    )
    figure.colorbar(dots, ax=world, label="depth, km")
    world.set(xlim=(-180, 180), ylim=(-90, 90), xlabel="longitude, °", ylabel="latitude, °")
    world.set_title(f"{len(earthquakes):,} earthquakes of one week; size: magnitude")
    world.grid(alpha=0.3)
    times = [datetime.fromtimestamp(each["time"] / 1000, UTC) for each in earthquakes]
    week.scatter(times, magnitudes, s=4, alpha=0.6)
    week.xaxis.set_major_formatter(mdates.DateFormatter("%a %d %b"))
    week.set(ylabel="magnitude")
    week.grid(alpha=0.3)
    figure.savefig(picture, dpi=110)
    plt.close(figure)


def take(producer: rheo.Producer) -> Iterator[rheo.Batch]:
    """Batches until there is nothing left."""
    while batch := producer.next(500):
        yield batch


def main() -> int:
    """Takes all there is, draws it, acks it."""
    journal, picture = sys.argv[1], Path(sys.argv[2])
    with rheo.open(f"journal:{journal}") as db:
        if "map" not in db.list_groups("earthquakes"):
            db.create_group("earthquakes", "map")
        group = db.group("earthquakes", "map")
        with group.producer(max_demand=10_000) as producer:
            batches = list(take(producer))
            earthquakes = [payload for batch in batches for payload in batch.payloads()]
            if not earthquakes:
                print(f"Nothing new for the map; its lag is {group.lag().lag}.")
                return 0
            draw(earthquakes, picture)
            failed = [error for batch in batches for error in batch.ack() if error]
        lag = group.lag().lag
        print(f"{len(earthquakes):,} events in {len(batches)} batches drawn; the map's lag is {lag}: {picture}")
        return 1 if failed or lag else 0


if __name__ == "__main__":
    sys.exit(main())
