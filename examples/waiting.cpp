// Waiting, with a timeout, and ending the wait from another thread: a consumer that sleeps until there is work, and
// that is stopped without being polled or killed.
//
// prints: nothing within 20 ms
// prints: consumer: good morning
// prints: consumer: good evening
// prints: consumer: told to stop

#include <chrono>
#include <future>
#include <iostream>
#include <rheo.hpp>

using namespace std::chrono_literals;

// Work first: what is there is taken even after the interrupt has fired. An empty list is therefore the end.
void consume(const rheo::group &readers, const rheo::interrupt &stop) {
    const auto options = rheo::fetch_options().wait_ms(10h).interrupt(stop);
    rheo::lease_list leases;
    for (readers.fetch_into(options, leases); !leases.empty(); readers.fetch_into(options, leases)) {
        for (const rheo::lease_view lease : leases) {
            std::cout << "consumer: " << lease.payload() << '\n';
            readers.ack(lease);
        }
    }
    std::cout << "consumer: " << (stop.is_fired() ? "told to stop" : "bored") << '\n';
}

int main() try {
    const rheo::instance db = rheo::open("memory:");
    db.create_stream("mail");
    db.create_group("mail", "readers");
    const rheo::group readers = db.group("mail", "readers");

    if (readers.fetch(rheo::fetch_options().wait_ms(20ms)).empty()) {
        std::cout << "nothing within 20 ms\n";
    }

    const rheo::interrupt stop;
    auto consumer = std::async(std::launch::async, [&] { consume(readers, stop); });
    db.append("mail", rheo::bytes("good morning"));
    db.append("mail", rheo::bytes("good evening"));
    stop.fire();
    consumer.get(); // throws what the consumer threw
} catch (const std::exception &error) {
    std::cerr << error.what() << '\n';
    return 1;
}
