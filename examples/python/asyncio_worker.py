"""A worker for asyncio: one task fetches, several work at the same time, and a cancellation ends it without a loss.

A waiting fetch occupies no thread. What the worker has not settled when it is cancelled is released, so that it comes
again at once; of what it forgets the lease expires, and it comes again all the same.
"""

# prints: resized 20 pictures, at most 4 at a time
# prints: cancelled; what was under way is available again: 1
# prints: lag 1

import asyncio
from collections.abc import Awaitable, Callable

import rheo.aio

Handler = Callable[[rheo.Event], Awaitable[None]]


async def handle(lease: rheo.aio.Lease, handler: Handler) -> None:
    """Handle one event and settles its lease."""
    try:
        await handler(lease.event)
    except asyncio.CancelledError:
        await lease.release()
        raise
    except Exception as error:
        await lease.retry(str(error), delay_ms=1_000)
    else:
        await lease.ack()


async def work(group: rheo.aio.Group, handler: Handler, concurrency: int) -> None:
    """Handle events until it is cancelled, `concurrency` of them at a time."""
    while True:
        batch = await group.fetch(limit=concurrency, wait_ms=10_000)
        async with asyncio.TaskGroup() as tasks:
            for lease in batch:
                tasks.create_task(handle(lease, handler))


async def main() -> None:
    """Resize some pictures."""
    resized, busy, most = 0, 0, 0
    finished = asyncio.Event()

    async def resize(event: rheo.Event) -> None:
        nonlocal resized, busy, most
        busy += 1
        most = max(most, busy)
        try:
            await asyncio.sleep(3600 if event.payload["width"] > 1_000 else 0.001)
        finally:
            busy -= 1
        resized += 1
        if resized == 20:
            finished.set()

    async with rheo.aio.open("memory:") as db:
        await db.create_stream("pictures")
        await db.create_group("pictures", "resize")
        group = db.group("pictures", "resize")
        worker = asyncio.create_task(work(group, resize, concurrency=4))
        await db.append_batch("pictures", [{"width": n} for n in range(20)])
        await finished.wait()
        print(f"resized {resized} pictures, at most {most} at a time")

        await db.append("pictures", {"width": 10_000})
        while busy == 0:
            await asyncio.sleep(0.001)
        worker.cancel()
        await asyncio.wait([worker])
        info = await group.info()
        print(f"cancelled; what was under way is available again: {info.available_count}\nlag {info.lag.lag}")


if __name__ == "__main__":
    asyncio.run(main())
