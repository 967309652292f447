// Producers and consumers in C++: handlers of every kind, what they throw, and what the destructor promises. What a
// consumer does is for tests/c/consumers.c and the scenarios to tell. Nothing here waits for time to pass.

#include "check.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

constexpr auto soon = 30s;

// A number that threads raise and wait for.
class counter {
public:
    int raise() {
        const std::lock_guard guard(lock_);
        changed_.notify_all();
        return ++count_;
    }
    void wait_for(int count) {
        std::unique_lock guard(lock_);
        CHECK(changed_.wait_for(guard, soon, [&] { return count_ >= count; }));
    }
    int get() {
        const std::lock_guard guard(lock_);
        return count_;
    }

private:
    std::mutex lock_;
    std::condition_variable changed_;
    int count_ = 0;
};

rheo::instance open_shop(int events = 0) {
    rheo::instance db = rheo::open();
    db.create_stream("orders");
    db.create_group("orders", "billing");
    for (int event = 0; event != events; ++event) {
        db.append("orders", rheo::json(std::to_string(event)));
    }
    return db;
}

std::vector<std::string> reasons(const rheo::instance &db) {
    std::vector<std::string> reasons;
    for (const rheo::dead_letter &letter : db.dead_letters("orders", "billing")) {
        reasons.push_back(letter.reason);
    }
    return reasons;
}

void a_handler_that_returns_has_acked() {
    const rheo::instance db = open_shop(50);
    std::mutex lock;
    std::set<std::string> seen;
    counter handled;
    const rheo::consumer consumer = db.consumer(
        "orders", "billing",
        [&](rheo::lease_view lease) {
            const std::lock_guard guard(lock);
            seen.emplace(lease.payload());
            handled.raise();
        },
        rheo::consumer_options().concurrency(4).lease_ms(soon).poll_ms(1s).max_demand(20).consumer_id("me"));
    handled.wait_for(50);
    CHECK(consumer.drain(soon) && consumer.inflight_count() == 0 && !consumer.is_running());
    CHECK(consumer.wait(soon) && seen.size() == 50 && db.lag("orders", "billing").total == 0);
    consumer.close();
}

void a_handler_says_an_outcome() {
    const rheo::instance db = open_shop(5);
    counter handled;
    {
        const auto judge = [&](rheo::lease_view lease, rheo::cancel cancel) {
            CHECK(!cancel.stop_requested() && cancel.stop_possible());
            handled.raise();
            if (lease.payload() == "0") {
                return rheo::outcome::reject("zero");
            }
            if (lease.payload() == "1" && lease.attempt() == 1) {
                return rheo::outcome::retry("one", 0ms);
            }
            if (lease.payload() == "2") {
                return rheo::outcome::fail("two");
            }
            return lease.payload() == "3" ? rheo::outcome::retry("three", 24h) : rheo::outcome::ack();
        };
        const auto options = rheo::consumer_options().on_failure(rheo::on_failure::reject);
        const rheo::consumer consumer = db.group("orders", "billing").consumer(judge, options);
        handled.wait_for(6);
    }
    CHECK(reasons(db) == std::vector<std::string>{"zero", "two"});
    CHECK(db.group_info("orders", "billing").delayed_count == 1);
}

void what_a_handler_throws_is_the_reason() {
    const rheo::instance db = open_shop(4);
    counter handled;
    {
        const rheo::consumer consumer = db.consumer(
            "orders", "billing",
            [&](rheo::lease_view lease) {
                handled.raise();
                if (lease.payload() == "0") {
                    throw std::runtime_error("no paper");
                }
                if (lease.payload() == "1") {
                    throw 7;
                }
                db.get("missing", lease.payload());
            },
            rheo::consumer_options().on_failure(rheo::on_failure::reject));
        handled.wait_for(4);
    }
    const std::vector<std::string> found = reasons(db);
    CHECK(found.size() == 4 && found[0] == "no paper");
    CHECK(found[1] == "the handler threw something that is no std::exception");
    CHECK(found[2].find("stream_not_found: ") == 0);
}

void a_handler_of_batches() {
    const rheo::instance db = open_shop(9);
    counter handled;
    {
        const rheo::consumer consumer = db.consumer(
            "orders", "billing",
            [&](rheo::work &work) {
                CHECK(work.size() == 3 && work.cancel().stop_possible());
                std::string all;
                for (const rheo::lease_view lease : work) {
                    all += lease.payload();
                }
                work.set(0, rheo::outcome::reject(all));
                work.set(1, rheo::outcome::ack());
                CHECK_THROWS(invalid_argument, work.set(3, rheo::outcome::ack()));
                CHECK_THROWS(invalid_argument, work.set(2, rheo::outcome::retry("", -1ms)));
                handled.raise();
                if (work[2].payload() == "5") {
                    throw std::runtime_error("five");
                }
                if (work[2].payload() == "8") {
                    work.set(2, rheo::outcome::release());
                }
            },
            rheo::consumer_options().batch_size(3).batch_timeout_ms(soon).on_failure(rheo::on_failure::reject));
        handled.wait_for(3);
        consumer.close();
        CHECK(consumer.wait(0ms));
    }
    CHECK((reasons(db) == std::vector<std::string>{"012", "345", "five", "678"}));
    const rheo::lease_list left = db.fetch("orders", "billing");
    CHECK(left.size() == 1 && left[0].payload() == "8" && left[0].attempt() == 1);
}

void a_handler_of_one_gets_the_events_of_a_batch_one_by_one() {
    const rheo::instance db = open_shop(3);
    counter handled;
    {
        const rheo::consumer consumer = db.consumer(
            "orders", "billing",
            [&](rheo::lease_view lease) {
                if (handled.raise() == 2) {
                    throw std::runtime_error(std::string(lease.payload()));
                }
            },
            rheo::consumer_options().batch_size(3).batch_timeout_ms(soon).on_failure(rheo::on_failure::reject));
        handled.wait_for(3);
    }
    CHECK(reasons(db) == std::vector<std::string>{"1"} && db.lag("orders", "billing").total == 0);
}

void the_destructor_waits_for_handlers() {
    for (int round = 0; round != 50; ++round) {
        const rheo::instance db = open_shop(10);
        const auto token = std::make_shared<int>(0);
        std::atomic<int> running = 0, ended = 0;
        counter begun;
        {
            rheo::consumer consumer = db.consumer(
                "orders", "billing",
                [&, token](rheo::lease_view) {
                    ++running;
                    begun.raise();
                    std::this_thread::yield();
                    ++ended;
                    --running;
                },
                rheo::consumer_options().concurrency(2));
            CHECK(token.use_count() == 2);
            begun.wait_for(1);
        }
        CHECK(running == 0 && ended == begun.get());
        CHECK(db.lag("orders", "billing").total == 10 - static_cast<std::uint64_t>(ended));
        CHECK(db.group_info("orders", "billing").inflight_count == 0);
        // The last of its threads is about to give the handler up, or has.
        const auto end = std::chrono::steady_clock::now() + soon;
        while (token.use_count() != 1) {
            CHECK(std::chrono::steady_clock::now() < end);
            std::this_thread::yield();
        }
    }
}

void cancel_ends_a_handlers_wait() {
    const rheo::instance db = open_shop(1);
    counter begun, cancelled;
    const rheo::consumer consumer = db.consumer("orders", "billing", [&](rheo::lease_view, rheo::cancel cancel) {
        begun.raise();
        db.create_group("orders", "other", rheo::group_options().start_after(1));
        CHECK(db.fetch("orders", "other", rheo::fetch_options().wait_ms(10min).interrupt(cancel)).empty());
        CHECK(cancel.stop_requested());
        cancelled.raise();
    });
    begun.wait_for(1);
    consumer.close(1ms);
    cancelled.wait_for(1);
    CHECK(consumer.wait(soon) && db.lag("orders", "billing").total == 1);
}

void a_handler_may_destroy_its_consumer() {
    const rheo::instance db = open_shop(3);
    std::optional<rheo::consumer> consumer;
    counter started, ended;
    consumer = db.consumer("orders", "billing", [&](rheo::lease_view) {
        started.wait_for(1);
        consumer.reset();
        ended.raise();
    });
    started.raise();
    ended.wait_for(1);
    // Its ack is still to come: it makes way for the others, which were given back.
    rheo::lease_list leases;
    const auto fetch = rheo::fetch_options().wait_ms(soon);
    std::set<std::string> left;
    while (left.size() != 2) {
        db.fetch_into("orders", "billing", fetch, leases);
        for (const rheo::lease_view lease : leases) {
            left.emplace(lease.payload());
        }
    }
    CHECK((left == std::set<std::string>{"1", "2"}));
}

void starts_that_fail() {
    const rheo::instance db = open_shop(1);
    const auto token = std::make_shared<int>(0);
    const auto handler = [token](rheo::lease_view) {};
    CHECK_THROWS(group_not_found, db.consumer("orders", "missing", handler));
    CHECK_THROWS(stream_not_found, db.consumer("missing", "billing", handler));
    CHECK_THROWS(invalid_argument,
                 db.consumer("orders", "billing", handler, rheo::consumer_options().concurrency(10'001)));
    CHECK_THROWS(invalid_argument, rheo::consumer_options().batch_size(-1));
    CHECK_THROWS(invalid_partition,
                 db.consumer("orders", "billing", handler, rheo::consumer_options().partitions({9})));
    CHECK_THROWS(group_not_found, db.producer("orders", "missing"));
    CHECK(token.use_count() == 2);
    rheo::consumer consumer = db.consumer("orders", "billing", handler);
    rheo::consumer moved = std::move(consumer);
    CHECK(moved.is_running() && !consumer.is_running()); // NOLINT: that is what is tested
    CHECK_THROWS(invalid_argument, consumer.drain());
    db.delete_group("orders", "billing");
    CHECK_THROWS(group_not_found, moved.wait(soon));
}

void a_consumer_in_place_of_another() {
    const rheo::instance db = open_shop(1);
    counter first, second;
    rheo::consumer consumer = db.consumer("orders", "billing", [&](rheo::lease_view) { first.raise(); });
    first.wait_for(1);
    consumer = db.consumer("orders", "billing", [&](rheo::lease_view) { second.raise(); });
    db.append("orders", rheo::bytes("x"));
    second.wait_for(1);
    CHECK(first.get() == 1);
}

// -------------------------------------------------------------------------------------------------------- producers

void a_loop_over_a_producer_ends_when_it_is_drained() {
    const rheo::instance db = open_shop(20);
    const rheo::producer producer = db.producer("orders", "billing", rheo::producer_options().max_demand(5));
    counter taken;
    std::thread loop([&] {
        for (const rheo::lease_view lease : producer) {
            producer.ack(lease);
            taken.raise();
        }
    });
    taken.wait_for(20);
    db.append("orders", rheo::json("20"));
    taken.wait_for(21);
    CHECK(producer.drain() && producer.is_stopped());
    loop.join();
    CHECK(!producer.next(1, 0ms) && db.lag("orders", "billing").total == 0);
}

void a_break_out_of_a_loop_gives_the_rest_back() {
    const rheo::instance db = open_shop(3);
    {
        const rheo::producer producer = db.group("orders", "billing").producer();
        for (const rheo::lease_view lease : producer) {
            CHECK(lease.payload() == "0" && producer.inflight_count() == 1);
            break;
        }
    }
    CHECK(db.fetch("orders", "billing").size() == 3);
}

void settles_through_a_producer() {
    const rheo::instance db = open_shop(12);
    const rheo::producer producer =
        db.producer("orders", "billing",
                    rheo::producer_options().max_demand(12).on_failure(rheo::on_failure::reject).retry_delay(24h, 48h));
    const std::optional<rheo::lease_list> leases = producer.next(12, soon);
    CHECK(leases && leases->size() == 12);
    const auto token = [&](std::size_t at) { return std::string((*leases)[at].token()); };
    producer.ack((*leases)[0]);
    CHECK_THROWS(stale_lease, producer.ack(token(0)));
    producer.retry((*leases)[1]);
    producer.retry(token(2), "later", 24h);
    producer.reject((*leases)[3], "bad");
    producer.reject(token(4), "worse");
    producer.release((*leases)[5]);
    producer.release(token(6));
    producer.fail((*leases)[7], "broke");
    producer.fail(token(8), "broke again");
    CHECK(producer.inflight_count() == 3);
    CHECK(producer.ack_many({(*leases)[9], (*leases)[0]}).failed() == 1);
    CHECK(producer.ack_many(std::vector<std::string>{token(10)}).failed() == 0);
    db.ack((*leases)[11]);
    CHECK(producer.confirm({(*leases)[11].lease_id()}) == 1 && producer.inflight_count() == 0);
    CHECK((reasons(db) == std::vector<std::string>{"bad", "worse", "broke", "broke again"}));
    CHECK(db.group_info("orders", "billing").delayed_count == 2);
    const rheo::lease_list again = *producer.next(12, 0ms);
    CHECK(again.size() == 2 && producer.next(12, 0ms)->empty() && producer.ack_many(again).failed() == 0);
    const rheo::interrupt interrupt;
    interrupt.fire();
    CHECK(producer.next(1, 10min, interrupt)->empty());
    producer.close();
}

} // namespace

int main() {
    a_handler_that_returns_has_acked();
    a_handler_says_an_outcome();
    what_a_handler_throws_is_the_reason();
    a_handler_of_batches();
    a_handler_of_one_gets_the_events_of_a_batch_one_by_one();
    the_destructor_waits_for_handlers();
    cancel_ends_a_handlers_wait();
    a_handler_may_destroy_its_consumer();
    starts_that_fail();
    a_consumer_in_place_of_another();
    a_loop_over_a_producer_ends_when_it_is_drained();
    a_break_out_of_a_loop_gives_the_rest_back();
    settles_through_a_producer();
}
