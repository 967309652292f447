// A pipeline: a producer at its head, a bounded queue, threads that share the work, and a sink. An event is acked when the
// sink has its result, so that a crash in the middle loses nothing; and the sink knows the event's id, so that what comes a
// second time changes nothing. The first run is killed when there are 40 results.
//
// prints: 100 results of 100 events

#include <condition_variable>
#include <csignal>
#include <filesystem>
#include <future>
#include <iostream>
#include <queue>
#include <rheo.hpp>
#include <sys/wait.h>
#include <unistd.h>

struct bounded_queue {
    std::mutex lock;
    std::condition_variable changed;
    std::queue<std::optional<rheo::lease>> leases; // nothing is the end
    void put(std::optional<rheo::lease> lease) {
        std::unique_lock guard(lock);
        changed.wait(guard, [&] { return leases.size() < 8; }); // no more is asked for than the threads can do
        leases.push(std::move(lease));
        changed.notify_all();
    }
    std::optional<rheo::lease> take() {
        std::unique_lock guard(lock);
        changed.wait(guard, [&] { return !leases.empty(); });
        std::optional<rheo::lease> lease = std::move(leases.front());
        leases.pop();
        changed.notify_all();
        return lease;
    }
};

void run(const rheo::instance &db, std::atomic<int> results_until_crash) {
    const auto options = rheo::producer_options().lease_ms(std::chrono::milliseconds(500));
    const rheo::producer producer = db.producer("events", "workers", options);
    bounded_queue queue;
    const auto work = [&] {
        while (const std::optional<rheo::lease> lease = queue.take()) {
            db.append("results", rheo::json(lease->payload()), rheo::append_options().id(lease->event().id()));
            if (--results_until_crash == 0) {
                std::raise(SIGKILL); // before the ack: it comes again when its lease has run out
            }
            producer.ack(*lease);
            if (db.lag("events", "workers").total == 0) {
                producer.close(); // ends the loop below
            }
        }
        queue.put({}); // for the next thread
    };
    const std::future<void> threads[] = {std::async(std::launch::async, work), std::async(std::launch::async, work)};
    for (const rheo::lease_view lease : producer) {
        queue.put(lease.clone());
    }
    queue.put({});
}

int main() {
    std::string place = std::filesystem::temp_directory_path() / "rheo-pipeline-XXXXXX";
    const std::string journal = std::string("journal:") + mkdtemp(place.data());
    const pid_t child = fork();
    wait(nullptr); // until the child is killed; the child has nothing to wait for
    const rheo::instance db = rheo::open(journal);
    if (child == 0) {
        db.create_stream("events");
        db.create_stream("results");
        db.create_group("events", "workers");
        for (int number = 0; number != 100; ++number) {
            db.append("events", rheo::json(std::to_string(number)));
        }
    }
    run(db, child == 0 ? 40 : -1);
    std::cout << db.stream_info("results").partitions[0].high_watermark << " results of 100 events\n";
    std::filesystem::remove_all(place);
}
