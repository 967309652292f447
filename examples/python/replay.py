"""Replay after a bug: a journal on disk, a consumer that got some events wrong, and only these done again.

A consumer may see an event twice, so its work should be idempotent: here each event's result is kept under its id.
"""

# prints: with the bug: {'pln': 0.0, 'eur': 30.0}
# prints: after opening it again: lag 0
# prints: replayed 2 of 4 events
# prints: without the bug: {'pln': 7.0, 'eur': 30.0}

import tempfile

import rheo

RATES = {"eur": 1.0, "pln": 0.0}
"""The bug: somebody forgot a rate."""


def total(results: dict[str, tuple[str, float]]) -> dict[str, float]:
    """Add up by currency."""
    sums: dict[str, float] = {}
    for currency, amount in results.values():
        sums[currency] = sums.get(currency, 0.0) + amount
    return sums


def work(db: rheo.Instance, results: dict[str, tuple[str, float]]) -> None:
    """Work through all that there is. What comes again replaces its own result, and is not counted twice."""
    while batch := db.fetch("payments", "books", limit=100):
        for event in batch.events():
            payment = event.payload
            results[event.id] = payment["currency"], payment["amount"] * RATES[payment["currency"]]
        batch.ack()


def main() -> None:
    """Find a bug in what was booked, and book it again."""
    results: dict[str, tuple[str, float]] = {}
    with tempfile.TemporaryDirectory() as place:
        with rheo.open(f"journal:{place}/data") as db:
            db.create_stream("payments", partition_count=2)
            db.create_group("payments", "books")
            for number, (amount, currency) in enumerate([(12, "pln"), (10, "eur"), (16, "pln"), (20, "eur")]):
                # With an id of its own an append may be repeated, whatever happened to it the first time.
                payment = {"amount": amount, "currency": currency}
                db.append("payments", payment, id=f"payment-{number}", key=currency)
            work(db, results)
            print("with the bug:", total(results))

        # Another day, another process: all of it is in the directory.
        RATES["pln"] = 0.25
        with rheo.open(f"journal:{place}/data") as db:
            print("after opening it again: lag", db.lag("payments", "books").lag)
            replayed = db.replay("payments", "books", query={"where": {"currency": "pln"}})
            print("replayed", replayed, "of", len(db.query("payments")), "events")
            work(db, results)
            print("without the bug:", total(results))


if __name__ == "__main__":
    main()
