// Handles: moving, destroying in any order, what outlives what.

#include "check.hpp"

#include <memory>
#include <type_traits>

namespace {

template <class Handle>
constexpr bool moves_only = std::is_nothrow_move_constructible_v<Handle> &&std::is_nothrow_move_assignable_v<Handle> &&
                            !std::is_copy_constructible_v<Handle> && !std::is_copy_assignable_v<Handle>;

static_assert(moves_only<rheo::instance> && moves_only<rheo::stream> && moves_only<rheo::group>);
static_assert(moves_only<rheo::event> && moves_only<rheo::event_list> && moves_only<rheo::event_stream>);
static_assert(moves_only<rheo::lease> && moves_only<rheo::lease_list> && moves_only<rheo::results>);
static_assert(moves_only<rheo::batch> && moves_only<rheo::interrupt> && moves_only<rheo::query>);
static_assert(moves_only<rheo::open_options> && moves_only<rheo::append_options> && moves_only<rheo::fetch_options>);

// Views are pointers, and an owner gives one without being asked.
static_assert(sizeof(rheo::event_view) == sizeof(void *) && std::is_trivially_copyable_v<rheo::event_view>);
static_assert(sizeof(rheo::lease_view) == sizeof(void *) && std::is_trivially_copyable_v<rheo::lease_view>);
static_assert(sizeof(rheo::event) == sizeof(void *) && std::is_convertible_v<const rheo::event &, rheo::event_view>);
static_assert(sizeof(rheo::lease) == sizeof(void *) && std::is_convertible_v<const rheo::lease &, rheo::lease_view>);

void open_with_two_events(rheo::instance &db) {
    db = rheo::open();
    db.create_stream("orders");
    db.create_group("orders", "billing");
    db.append("orders", rheo::json(R"({"n":1})"), rheo::append_options().id("one"));
    db.append("orders", rheo::json(R"({"n":2})"), rheo::append_options().id("two"));
}

void moving_empties_the_source() {
    rheo::instance db = rheo::open();
    db.create_stream("orders");
    db.create_group("orders", "billing");
    rheo::instance moved = std::move(db);
    CHECK(db.handle() == nullptr && !db.name());
    CHECK_THROWS(invalid_argument, db.ping());
    moved.ping();

    rheo::stream orders = moved.stream("orders");
    rheo::stream others = std::move(orders);
    CHECK(orders.name().empty() && others.name() == "orders");
    CHECK_THROWS(invalid_argument, orders.append(rheo::bytes("x")));

    rheo::event first = others.append_event(rheo::bytes("1"));
    rheo::event second = others.append_event(rheo::bytes("2"));
    first = std::move(second); // what it held is freed
    CHECK(first.payload() == "2" && first.sequence() == 2);
    CHECK(second.payload().empty() && second.sequence() == 0 && !second.key() && second.handle() == nullptr);
    CHECK_THROWS(invalid_argument, second.clone());

    rheo::lease_list leases = moved.fetch("orders", "billing");
    rheo::lease_list taken = std::move(leases);
    CHECK(leases.empty() && leases.begin() == leases.end() && taken.size() == 2);
    moved.fetch_into("orders", "billing", {}, leases); // what was moved from can be filled again
    CHECK(leases.empty() && leases.handle() != nullptr);
}

void children_outlive_their_parents() {
    rheo::instance db = rheo::open();
    open_with_two_events(db);
    rheo::group billing = db.group("orders", "billing");
    rheo::stream orders = db.stream("orders");
    rheo::lease_list leases = billing.fetch();
    rheo::event_list events = orders.read();
    rheo::event_stream iteration = orders.query_stream();
    rheo::event_view view = events[0];
    rheo::event event = view.clone();
    rheo::lease lease = leases[1].clone();
    rheo::event_view claimed = lease.event();

    { rheo::instance gone = std::move(db); }
    billing.ack(leases[0]); // the group keeps the instance
    CHECK(iteration.next()->id() == "one");
    { rheo::lease_list gone = std::move(leases); }
    { rheo::event_list gone = std::move(events); }
    CHECK(event.id() == "one" && event.payload() == R"({"n":1})");
    CHECK(claimed.id() == "two" && lease.payload() == R"({"n":2})");
    orders.instance().ack(lease);
    CHECK(billing.lag().total == 0);
    { rheo::stream gone = std::move(orders); }
    { rheo::group gone = std::move(billing); }
    CHECK(iteration.next()->id() == "two" && !iteration.next());
    CHECK(event.clone().id() == "one" && lease.clone().token() == lease.token());
}

void the_last_handle_closes() {
    CHECK(!rheo::get("shop"));
    {
        std::optional<rheo::instance> db = rheo::open("memory:", rheo::open_options().name("shop"));
        CHECK(db->name() == "shop");
        db->create_stream("orders");
        const rheo::instance again = db->clone();
        const std::optional<rheo::instance> found = rheo::get("shop");
        db.reset();
        CHECK(again.list_streams().size() == 1 && found->list_streams().size() == 1);
        CHECK_THROWS(already_exists, rheo::open("memory:", rheo::open_options().name("shop")));
    }
    CHECK(!rheo::get("shop"));

    const rheo::instance db = rheo::open("memory:", rheo::open_options().name("shop"));
    const rheo::instance again = db.clone();
    db.close();
    db.close();
    CHECK(again.is_closed() && !rheo::get("shop"));
    CHECK_THROWS(closed, again.list_streams());
}

void options_are_made_when_something_is_set() {
    rheo::fetch_options options;
    CHECK(options.handle() == nullptr);
    CHECK(options.limit(1).handle() != nullptr);
    rheo::interrupt interrupt;
    auto built = rheo::fetch_options().limit(1).interrupt(interrupt);
    { rheo::interrupt gone = std::move(interrupt); } // the options keep it
    built.wait_ms(std::chrono::milliseconds(0));

    rheo::instance db = rheo::open();
    open_with_two_events(db);
    CHECK(db.fetch("orders", "billing", built).size() == 1);
    options = std::move(built);
    CHECK(built.handle() == nullptr);
    CHECK(db.fetch("orders", "billing", options).size() == 1);
    CHECK(db.fetch("orders", "billing", built.limit(1)).empty());
}

} // namespace

int main() {
    moving_empties_the_source();
    children_outlive_their_parents();
    the_last_handle_closes();
    options_are_made_when_something_is_set();
}
