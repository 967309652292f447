"""A pipeline in asyncio across a crash: a producer, a bounded queue, and a thread pool that writes to a sink.

An event is acked only once the sink has the result. The first run kills itself (kill -9) in the middle; the second one
goes on from the same journal. Nothing is missing: what was written but not acked comes again, so the sink knows the ids
that it has. SIGTERM ends a run well: what is under way is finished, the rest given back.

    python examples/python/asyncio_pipeline.py
"""

# prints: the first run was killed in the middle
# prints: the second run wrote the rest: 100 results, none missing

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import rheo.aio

EVENTS, WORKERS = 100, 8


def write(sink: Path, event: rheo.Event, die_after: int) -> None:
    """The sink: a file for each result, by the event's id. Runs in the pool."""
    (sink / event.id).write_text(str(event.payload["n"] ** 2))
    if len(list(sink.iterdir())) >= die_after:
        os.kill(os.getpid(), signal.SIGKILL)


async def run(place: Path, die_after: int) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    queue: asyncio.Queue[rheo.aio.Lease] = asyncio.Queue(WORKERS)
    pool = ThreadPoolExecutor(WORKERS)

    async def work() -> None:
        while True:
            lease = await queue.get()
            await asyncio.get_running_loop().run_in_executor(pool, write, place / "sink", lease.event, die_after)
            await lease.ack()  # only now
            queue.task_done()

    async with rheo.aio.open(f"journal:{place / 'journal'}") as db:
        async with db.producer("numbers", "squares", max_demand=2 * WORKERS) as producer:
            workers = [asyncio.create_task(work()) for _ in range(WORKERS)]
            while not stop.is_set() and (batch := await producer.next(WORKERS, timeout_ms=100)):
                for lease in batch:
                    await queue.put(lease)
            await queue.join()
        for worker in workers:
            worker.cancel()


def main() -> None:
    if len(sys.argv) > 1:
        asyncio.run(run(Path(sys.argv[1]), int(sys.argv[2])))
        return
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        (place / "sink").mkdir()
        with rheo.open(f"journal:{place / 'journal'}") as db:
            db.create_stream("numbers")
            db.create_group("numbers", "squares")
            db.append_batch("numbers", [{"n": n} for n in range(EVENTS)])
        again = [sys.executable, __file__, name]
        if subprocess.run([*again, "40"], check=False).returncode == -signal.SIGKILL:
            print("the first run was killed in the middle")
        subprocess.run([*again, str(EVENTS + 1)], check=True)
        results = sorted(int(result.read_text()) for result in (place / "sink").iterdir())
        missing = "none" if results == [n**2 for n in range(EVENTS)] else "some"
        print(f"the second run wrote the rest: {len(results)} results, {missing} missing")


if __name__ == "__main__":
    main()
