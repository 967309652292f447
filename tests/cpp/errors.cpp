// Errors: what an exception carries, and that everything that fails throws.

#include "check.hpp"

#include <cstring>
#include <type_traits>
#include <vector>

namespace {

// Copying an exception must not throw another one.
static_assert(std::is_nothrow_copy_constructible_v<rheo::error> && std::is_base_of_v<std::exception, rheo::error>);

rheo::error error_of_a_missing_stream() {
    try {
        rheo::open().append("orders", rheo::bytes("x"));
    } catch (const rheo::error &error) {
        return error; // the instance and what was thrown are gone; the copy stands
    }
    std::exit(1);
}

void an_error_says_what_failed() {
    const rheo::error error = error_of_a_missing_stream();
    CHECK(error.code() == rheo::status::stream_not_found && error.name() == "stream_not_found");
    CHECK(error.message().find("orders") != std::string_view::npos);
    CHECK(error.settle_class() == rheo::settle_class::lost && error.retriable() == rheo::retriable::no);
    CHECK(!error.cause());
    CHECK(error.what() == "stream_not_found: " + std::string(error.message()));
    const std::exception &base = error;
    CHECK(std::strstr(base.what(), "orders") != nullptr);
}

void an_error_may_know_its_status_alone() {
    const rheo::error error(rheo::status::ambiguous, nullptr);
    CHECK(std::string_view(error.what()) == "ambiguous" && error.message().empty() && !error.cause());
    CHECK(error.settle_class() == rheo::settle_class::unknown);
    CHECK(error.retriable() == rheo::retriable::with_same_id);
    CHECK(rheo::error(rheo::status::failed, nullptr).settle_class() == rheo::settle_class::definite);
    CHECK(rheo::error(rheo::status::failed, nullptr).retriable() == rheo::retriable::yes);
    CHECK(rheo::error(rheo::status::locked, nullptr).settle_class() == rheo::settle_class::none);
}

// The backend is one that exists to test with: a stream of such a name is a fault that it is to show.
void an_error_carries_its_cause() {
    const rheo::instance db = rheo::open("flaky:memory:");
    db.create_stream("orders");
    db.create_stream("flaky!ambiguous:append:1");
    const auto options = rheo::append_options().id("one");
    std::optional<rheo::error> ambiguous;
    try {
        db.append("orders", rheo::bytes("x"), options);
    } catch (const rheo::error &error) {
        ambiguous = error;
    }
    CHECK(ambiguous && ambiguous->code() == rheo::status::ambiguous && ambiguous->cause());
    CHECK(ambiguous->what() ==
          "ambiguous: " + std::string(ambiguous->message()) + " (" + std::string(*ambiguous->cause()) + ")");
    CHECK(ambiguous->retriable() == rheo::retriable::with_same_id);
    CHECK(db.append("orders", rheo::bytes("x"), options).deduplicated);
}

void statuses_have_names() {
    CHECK(rheo::status_name(rheo::status::ok) == "ok");
    CHECK(rheo::status_name(rheo::status::stale_lease) == "stale_lease");
    CHECK(rheo::status_name(rheo::status::internal) == "internal");
    CHECK(rheo::status_name(static_cast<rheo::status>(7)).empty());
}

void what_fails_throws() {
    CHECK_THROWS(invalid_argument, rheo::open("nonsense"));
    CHECK_THROWS(unsupported, rheo::open("redis://localhost"));
    CHECK_THROWS(invalid_argument, rheo::open("journal:"));
    CHECK_THROWS(invalid_argument, rheo::open("memory:", rheo::open_options().sync(rheo::sync_policy::never)));
    CHECK_THROWS(invalid_argument, rheo::open_options().sync_every(std::chrono::milliseconds(-1)));
    CHECK_THROWS(invalid_argument, rheo::open("memory:", rheo::open_options().name("")));
    CHECK_THROWS(invalid_argument, rheo::open_options().default_lease_ms(std::chrono::milliseconds(-1)));
    CHECK_THROWS(invalid_argument, rheo::fetch_options().limit(-1));
    CHECK_THROWS(invalid_argument, rheo::fetch_options().set("limits", "1"));
    CHECK_THROWS(invalid_argument, rheo::query().where("["));

    const rheo::instance db = rheo::open("memory:", rheo::open_options().max_payload_bytes(4));
    CHECK_THROWS(invalid_argument, db.create_stream(std::string_view("a\0b", 3)));
    CHECK_THROWS(invalid_argument, db.stream(""));
    CHECK_THROWS(invalid_argument, db.create_stream("\xff"));
    CHECK_THROWS(invalid_partition_count, db.create_stream("orders", rheo::stream_options().partition_count(70'000)));
    CHECK_THROWS(unsupported, db.advance_clock(std::chrono::milliseconds(1)));
    db.create_stream("orders");
    CHECK_THROWS(already_exists, db.create_stream("orders"));
    CHECK_THROWS(confirm_required, db.delete_stream("orders", false));
    CHECK_THROWS(payload_too_large, db.append("orders", rheo::bytes("12345")));
    CHECK_THROWS(invalid_partition, db.append("orders", rheo::bytes("1"), rheo::append_options().partition(1)));
    CHECK_THROWS(group_not_found, db.fetch("orders", "billing"));
    CHECK_THROWS(group_not_found, db.group("orders", "billing").lag());

    db.create_group("orders", "billing");
    CHECK_THROWS(invalid_partition, db.lag("orders", "billing", {0, 1}));
    CHECK_THROWS(invalid_replay_opts, db.replay("orders", "billing", {}));
    CHECK_THROWS(confirm_required, db.reset_group("orders", "billing", {}));
    CHECK_THROWS(cursor_not_found, db.dead_letters("orders", "billing", rheo::dead_letter_options().after("none")));
    CHECK_THROWS(invalid_argument, db.ack("no token"));
    CHECK_THROWS(invalid_argument, db.ack(rheo::lease_view()));
}

void a_failed_call_leaves_lists_usable() {
    const rheo::instance db = rheo::open();
    db.create_stream("orders");
    db.create_group("orders", "billing");
    rheo::lease_list leases;
    CHECK_THROWS(group_not_found, db.fetch_into("orders", "shipping", {}, leases));
    db.append("orders", rheo::bytes("x"));
    db.fetch_into("orders", "billing", {}, leases);
    CHECK(leases.size() == 1);
    db.ack(leases[0]);
    CHECK_THROWS(stale_lease, db.ack(leases[0]));
}

void results_carry_the_errors_of_their_leases() {
    const rheo::instance db = rheo::open();
    db.create_stream("orders");
    db.create_group("orders", "billing");
    for (int n = 0; n != 3; ++n) {
        db.append("orders", rheo::bytes("x"));
    }
    const rheo::lease_list leases = db.fetch("orders", "billing");
    db.ack(leases[1]);
    std::optional<rheo::error> error;
    {
        const rheo::results results = db.ack_many(leases);
        CHECK(results.size() == 3 && results.failed() == 1);
        CHECK(results.status(0) == rheo::status::ok && results.status(1) == rheo::status::stale_lease);
        CHECK(!results.error(0) && !results.error(3));
        error = results.error(1);
        CHECK_THROWS(stale_lease, results.check());
    }
    CHECK(error->code() == rheo::status::stale_lease && !error->message().empty());
    CHECK(error->settle_class() == rheo::settle_class::lost);
}

} // namespace

int main() {
    an_error_says_what_failed();
    an_error_may_know_its_status_alone();
    an_error_carries_its_cause();
    statuses_have_names();
    what_fails_throws();
    a_failed_call_leaves_lists_usable();
    results_carry_the_errors_of_their_leases();
}
