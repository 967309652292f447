// A journal from C++: its options, and that what was confirmed is there when it is opened again.

#include "check.hpp"

#include <filesystem>
#include <string>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;

// A directory that is gone afterwards.
struct place {
    std::filesystem::path path;

    place() {
        path = std::filesystem::temp_directory_path() / ("rheo-journal-" + std::to_string(getpid()));
        CHECK(std::filesystem::create_directory(path));
    }
    ~place() { std::filesystem::remove_all(path); }

    std::string url() const { return "journal:" + (path / "journal").string(); }
};

void what_was_confirmed_is_there_again(const rheo::open_options &options) {
    const place place;
    {
        const rheo::instance db = rheo::open(place.url(), options);
        CHECK(db.capabilities().guarantees.at("durable"));
        db.create_stream("orders");
        db.create_group("orders", "billing");
        db.append("orders", rheo::bytes("first"), rheo::append_options().id("1"));
        db.append("orders", rheo::bytes("second"));
        const auto leases = db.fetch("orders", "billing");
        db.ack(leases[0]);
    }
    const rheo::instance db = rheo::open(place.url(), options);
    CHECK(db.append("orders", rheo::bytes("first"), rheo::append_options().id("1")).deduplicated);
    const auto leases = db.fetch("orders", "billing");
    CHECK(leases.size() == 1 && leases[0].event().payload() == "second" && leases[0].attempt() == 2);
}

void a_journal_is_open_once() {
    const place place;
    const rheo::instance db = rheo::open(place.url());
    CHECK_THROWS(locked, rheo::open(place.url()));
    db.create_stream("orders");
    db.close();
    const rheo::instance again = rheo::open(place.url() + "?mode=ro");
    CHECK(again.list_streams() == std::vector<std::string>{"orders"});
    CHECK_THROWS(unsupported, again.create_stream("others"));
    CHECK_THROWS(locked, rheo::open(place.url()));
}

} // namespace

int main() {
    what_was_confirmed_is_there_again(rheo::open_options());
    what_was_confirmed_is_there_again(rheo::open_options().sync(rheo::sync_policy::never).segment_bytes(4096));
    what_was_confirmed_is_there_again(rheo::open_options().sync_every(5ms).sync_settles());
    a_journal_is_open_once();
    return EXIT_SUCCESS;
}
