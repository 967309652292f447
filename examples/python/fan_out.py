"""Fan-out: several groups read one stream, each at its own pace, and one with several threads.

A thread that waits in `fetch` does not keep the interpreter: the others run meanwhile.
"""

# prints: audit saw 100 events, 4 of them from customer-7
# prints: billing: 4950 cents by 4 threads, each customer in order: True
# prints: late starts at the end: lag 0
# prints: billing lag 0, audit lag 0

import threading
from collections import defaultdict
from collections.abc import Mapping

import rheo

EVENTS, CUSTOMERS, PARTITIONS = 100, 25, 8


def bill(group: rheo.Group, seen: Mapping[str, list[int]], lock: threading.Lock) -> None:
    """Work through the group's events, as one of several threads that compete for them."""
    while group.lag().lag > 0:
        for lease in group.fetch(limit=5, wait_ms=50):
            with lock:
                seen[lease.event.key or ""].append(lease.event.payload["cents"])
            lease.ack()


def main() -> None:
    """Append some orders and have two groups read them."""
    with rheo.open("memory:") as db:
        db.create_stream("orders", partition_count=PARTITIONS)
        db.create_group("orders", "audit")
        # No event of a customer is offered while an earlier one of the same customer is open.
        db.create_group("orders", "billing", ordering="key")
        db.append_batch(
            "orders", [rheo.Append({"cents": n}, key=f"customer-{n % CUSTOMERS}") for n in range(EVENTS)], type="placed"
        )

        audit = db.group("orders", "audit")
        keys: list[str | None] = []
        while batch := audit.fetch(limit=64):
            keys += [event.key for event in batch.events()]
            batch.ack()
        print(f"audit saw {len(keys)} events, {keys.count('customer-7')} of them from customer-7")

        seen: defaultdict[str, list[int]] = defaultdict(list)
        work = (db.group("orders", "billing"), seen, threading.Lock())
        threads = [threading.Thread(target=bill, args=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        in_order = all(bills == sorted(bills) for bills in seen.values())
        cents = sum(map(sum, seen.values()))
        print(f"billing: {cents} cents by {len(threads)} threads, each customer in order: {in_order}")

        # A start beyond the end counts as the end.
        db.create_group("orders", "late", start_after=2**63 - 1)
        print("late starts at the end: lag", db.lag("orders", "late").lag)
        print(f"billing lag {db.lag('orders', 'billing').lag}, audit lag {db.lag('orders', 'audit').lag}")


if __name__ == "__main__":
    main()
