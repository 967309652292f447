// Waiting, threads, and loops that allocate nothing. No test here waits for time to pass: each wait is for ten minutes
// and ends by what it is meant to end by, or the program is stopped.

#include "check.hpp"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace {

std::atomic<std::size_t> allocations = 0;

} // namespace

// Counts what C++ allocates; the library's own memory does not come from here. Not inlined, for GCC would take the pair
// of malloc and free within them for one that does not match.
[[gnu::noinline]] void *operator new(std::size_t size) {
    ++allocations;
    if (void *memory = std::malloc(size == 0 ? 1 : size)) {
        return memory;
    }
    throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void *memory) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void *memory, std::size_t) noexcept {
    std::free(memory);
}

namespace {

using std::chrono::minutes;

rheo::instance open_shop(const rheo::open_options &options = {}) {
    rheo::instance db = rheo::open("memory:", options);
    db.create_stream("orders");
    db.create_group("orders", "billing");
    return db;
}

void an_interrupt_ends_a_wait_in_another_thread() {
    const rheo::instance db = open_shop();
    const rheo::interrupt interrupt;
    const auto options = rheo::fetch_options().wait_ms(minutes(10)).interrupt(interrupt);
    // Often, as it is fired now before the wait, now during it.
    for (int round = 0; round != 50; ++round) {
        std::promise<void> begins;
        auto waiting = std::async(std::launch::async, [&] {
            begins.set_value();
            return db.group("orders", "billing").fetch(options);
        });
        begins.get_future().wait();
        interrupt.fire();
        CHECK(waiting.get().empty());
        CHECK(interrupt.is_fired());
        CHECK(db.fetch("orders", "billing", options).empty()); // and later waits
        interrupt.reset();
        CHECK(!interrupt.is_fired());
    }
}

void work_ends_a_wait() {
    const rheo::instance db = open_shop();
    const auto options = rheo::fetch_options().wait_ms(minutes(10));
    for (int round = 0; round != 50; ++round) {
        std::promise<void> begins;
        auto waiting = std::async(std::launch::async, [&] {
            begins.set_value();
            return db.fetch("orders", "billing", options);
        });
        begins.get_future().wait();
        db.append("orders", rheo::bytes("x"));
        const rheo::lease_list leases = waiting.get();
        CHECK(leases.size() == 1);
        db.ack(leases[0]);
    }
}

void closing_ends_a_wait() {
    const rheo::instance db = open_shop();
    std::promise<void> begins;
    auto waiting = std::async(std::launch::async, [&] {
        const rheo::group billing = db.group("orders", "billing");
        begins.set_value();
        return billing.fetch(rheo::fetch_options().wait_ms(minutes(10)));
    });
    begins.get_future().wait();
    db.close();
    CHECK_THROWS(closed, waiting.get());
}

void a_manual_clock_ends_a_wait() {
    const rheo::instance db = open_shop(rheo::open_options().clock(rheo::clock::manual));
    db.append("orders", rheo::bytes("x"));
    const auto lease = rheo::fetch_options().lease_ms(minutes(5));
    CHECK(db.fetch("orders", "billing", lease).size() == 1); // never settled: it expires
    std::promise<void> begins;
    auto waiting = std::async(std::launch::async, [&] {
        begins.set_value();
        return db.fetch("orders", "billing", rheo::fetch_options().wait_ms(minutes(10)));
    });
    begins.get_future().wait();
    db.advance_clock(minutes(5));
    const rheo::lease_list leases = waiting.get();
    CHECK(leases.size() == 1 && leases[0].attempt() == 2);
}

void handles_are_shared_between_threads() {
    const rheo::instance db = open_shop();
    const rheo::stream orders = db.stream("orders");
    const rheo::group billing = db.group("orders", "billing");
    constexpr int each = 200;
    std::atomic<int> acked = 0;
    std::vector<std::thread> threads;
    for (int thread = 0; thread != 2; ++thread) {
        threads.emplace_back([&] {
            rheo::append_options options;
            for (int n = 0; n != each; ++n) {
                orders.append(rheo::bytes("x"), options.key("k" + std::to_string(n)));
            }
        });
        threads.emplace_back([&] {
            rheo::lease_list leases;
            while (acked != 2 * each) {
                billing.fetch_into({}, leases);
                for (const rheo::lease_view lease : leases) {
                    billing.ack(lease);
                    ++acked;
                }
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    CHECK(acked == 2 * each && billing.lag().total == 0);
}

void a_loop_over_bound_handles_allocates_nothing() {
    const rheo::instance db = open_shop();
    const rheo::stream orders = db.stream("orders");
    const rheo::group billing = db.group("orders", "billing");
    const auto fetch = rheo::fetch_options().limit(4);
    rheo::append_options append;
    rheo::lease_list leases;
    rheo::event_list events;
    rheo::results results;
    const auto work = [&](const char *id) {
        append.clear().id(id).key("k");
        orders.append(rheo::json("{}"), append);
        orders.append(rheo::json("{}"));
        billing.fetch_into(fetch, leases);
        CHECK(leases.size() == 2 && leases[0].event().id() == id);
        billing.ack(leases[0]);
        billing.ack_many_into(leases, results);
        CHECK(results.failed() == 1);
        orders.read_into(0, leases[0].event().sequence(), 10, events);
        CHECK(events.size() == 1 && events.begin()->sequence() == leases[1].event().sequence());
    };
    work("first");
    const rheo_lease_list *list = leases.handle();
    const std::size_t before = allocations;
    for (const char *id : {"second", "third", "fourth"}) {
        work(id);
    }
    CHECK(allocations == before && leases.handle() == list);
}

} // namespace

int main() {
    an_interrupt_ends_a_wait_in_another_thread();
    work_ends_a_wait();
    closing_ends_a_wait();
    a_manual_clock_ends_a_wait();
    handles_are_shared_between_threads();
    a_loop_over_bound_handles_allocates_nothing();
}
