// A work queue: pictures are resized. A job that fails is tried again after a while, three times in all; one that
// cannot succeed is put aside at once. What failed for good is listed with its reason, and can be tried again later.
//
// prints: cat.jpg: done at attempt 1
// prints: sky.png: done at attempt 3
// prints: put aside after attempt 1: notes.txt: not a picture
// prints: put aside after attempt 3: huge.tif: out of memory; max_attempts 3 reached
// prints: given another chance: 1

#include <chrono>
#include <iostream>
#include <rheo.hpp>

using namespace std::chrono_literals;

enum class outcome { done, try_again, hopeless };

// The work itself.
outcome resize(std::string_view picture, std::uint32_t attempt) {
    if (picture == "notes.txt") {
        return outcome::hopeless;
    }
    return picture == "huge.tif" || (picture == "sky.png" && attempt < 3) ? outcome::try_again : outcome::done;
}

// Does one job and settles it.
void work(const rheo::group &jobs, rheo::lease_view lease) try {
    switch (resize(lease.payload(), lease.attempt())) {
    case outcome::done:
        jobs.ack(lease);
        std::cout << lease.payload() << ": done at attempt " << lease.attempt() << '\n';
        break;
    case outcome::try_again:
        jobs.retry(lease, "out of memory", 10ms);
        break;
    case outcome::hopeless:
        jobs.reject(lease, "not a picture");
        break;
    }
} catch (const rheo::error &error) {
    // Too slow: the lease had expired, and another worker has the job by now. Nothing is lost by that.
    if (error.settle_class() != rheo::settle_class::lost) {
        throw;
    }
}

int main() try {
    const rheo::instance db = rheo::open("memory:");
    db.create_stream("pictures");
    db.create_group("pictures", "resize", rheo::group_options().max_attempts(3));
    for (const char *picture : {"cat.jpg", "notes.txt", "sky.png", "huge.tif"}) {
        db.append("pictures", rheo::bytes(picture));
    }

    const rheo::group jobs = db.group("pictures", "resize");
    const auto options = rheo::fetch_options().lease_ms(30s).wait_ms(10s); // it waits for a retry that is due
    while (jobs.lag().total > 0) {
        for (const rheo::lease_view lease : jobs.fetch(options)) {
            work(jobs, lease);
        }
    }

    rheo::replay_options again;
    for (const rheo::dead_letter &letter : jobs.dead_letters()) {
        std::cout << "put aside after attempt " << letter.attempt << ": " << letter.event.payload() << ": "
                  << letter.reason << '\n';
        if (letter.attempt > 1) {
            again.add_event_id(letter.event.id());
        }
    }
    std::cout << "given another chance: " << jobs.replay(again) << '\n';
} catch (const rheo::error &error) {
    std::cerr << error.what() << '\n';
    return 1;
}
