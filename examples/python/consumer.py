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

import rheo


def main() -> None:
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the same as Ctrl-C
    with rheo.open("memory:") as db:
        db.create_stream("orders")
        db.create_group("orders", "billing", max_attempts=5)
        db.append_batch("orders", [{"order": number} for number in (1, 2, 3)])

        @db.consumer("orders", "billing", concurrency=1)
        def bill(event: rheo.Event, context: rheo.Context) -> rheo.Outcome | None:
            print(f"billing order {event.payload['order']} …", flush=True)
            os.kill(os.getpid(), signal.SIGTERM)
            context.cancel.wait(timeout_ms=500)  # work that takes its time, and would notice if it were in vain
            print(f"… billed order {event.payload['order']}", flush=True)
            return rheo.ACK

        try:
            with bill:
                bill.wait()
        except KeyboardInterrupt:
            # Leaving `with` has waited for the handlers, 30 seconds at most.
            print(f"{db.group_info('orders', 'billing').available_count} orders are left for others")


if __name__ == "__main__":
    main()
