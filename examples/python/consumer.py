"""A worker that ends well: consumers that run themselves, and SIGTERM.

On SIGTERM (or Ctrl-C) the handlers that run finish, what they had not begun with is given back at once for others, and
the program ends with status 0. Here it sends the signal to itself, while one event is being handled.

    python examples/python/consumer.py
"""

# prints: billing order 1 …
# prints: … billed order 1
# prints: 2 orders are left for others

import os
import signal
import threading

import rheo

stop = threading.Event()


def ask_to_stop(_number: int, _frame: object) -> None:
    stop.set()


def main() -> None:
    signal.signal(signal.SIGTERM, ask_to_stop)
    signal.signal(signal.SIGINT, ask_to_stop)
    with rheo.open("memory:") as db:
        db.create_stream("orders")
        db.create_group("orders", "billing", max_attempts=5)
        db.append_batch("orders", [{"order": number} for number in (1, 2, 3)])

        @db.consumer("orders", "billing", concurrency=1)
        def bill(event: rheo.Event) -> rheo.Outcome | None:
            print(f"billing order {event.payload['order']} …", flush=True)
            os.kill(os.getpid(), signal.SIGTERM)
            stop.wait()
            print(f"… billed order {event.payload['order']}", flush=True)
            return rheo.ACK

        with bill:
            # `bill.wait()` would notice Ctrl-C by itself; the event serves all signals.
            stop.wait()
        # Leaving `with` has waited for the handlers, 30 seconds at most.
        print(f"{db.group_info('orders', 'billing').available_count} orders are left for others")


if __name__ == "__main__":
    main()
