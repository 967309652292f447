// Every operation and option once, by name and by bound handle, and how values cross.

#include "check.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace {

using std::chrono::milliseconds;
using namespace std::string_view_literals;

std::vector<std::string> ids(const rheo::event_list &events) {
    std::vector<std::string> ids;
    std::transform(events.begin(), events.end(), std::back_inserter(ids),
                   [](rheo::event_view event) { return std::string(event.id()); });
    return ids;
}

using names = std::vector<std::string>;

void the_library() {
    CHECK(rheo::version() == RHEO_VERSION && rheo::abi_version() == RHEO_ABI_VERSION);
    CHECK(!rheo::has_feature("teleport"));
}

void times_keep_their_microseconds() {
    CHECK(rheo::to_micros(rheo::from_micros(-1)) == -1);
    // What is finer is cut off, towards the past.
    using nanoseconds = std::chrono::time_point<std::chrono::system_clock, std::chrono::nanoseconds>;
    CHECK(rheo::to_micros(nanoseconds(std::chrono::nanoseconds(1999))) == 1);
    CHECK(rheo::to_micros(nanoseconds(std::chrono::nanoseconds(-1))) == -1);
    CHECK(rheo::to_micros(std::chrono::time_point<std::chrono::system_clock, std::chrono::hours>(
              std::chrono::hours(1))) == 3'600'000'000);
}

void an_instance() {
    const rheo::instance db = rheo::open("memory:", rheo::open_options()
                                                        .name("db")
                                                        .default_max_demand(2)
                                                        .default_lease_ms(milliseconds(100))
                                                        .default_max_attempts(1)
                                                        .max_payload_bytes(1000)
                                                        .clock(rheo::clock::manual)
                                                        .clock_start(rheo::from_micros(5'000'000)));
    CHECK(db.name() == "db" && !db.is_closed());
    db.ping();
    db.ensure_indexes();
    CHECK(db.now() == rheo::from_micros(5'000'000));
    CHECK(db.advance_clock(std::chrono::seconds(1)) == rheo::from_micros(6'000'000));
    const rheo::capabilities capabilities = db.capabilities();
    CHECK(capabilities.guarantees.size() == 11 && capabilities.mechanisms.size() == 8);
    CHECK(capabilities.guarantees.at("lease_fencing") && !capabilities.guarantees.at("durable"));
    CHECK(capabilities.mechanisms.count("change_feed") == 1);

    db.create_stream("orders");
    db.create_group("orders", "billing");
    for (int n = 0; n != 3; ++n) {
        db.append("orders", rheo::bytes("x"));
    }
    const rheo::lease_list leases = db.fetch("orders", "billing");
    CHECK(leases.size() == 2 && leases[0].lease_ms() == milliseconds(100));
    CHECK(db.group_info("orders", "billing").max_attempts == 1);
    CHECK(rheo::open("memory:", rheo::open_options().set("clock_start", "7")).now() == rheo::from_micros(7));
}

void streams_and_groups() {
    const rheo::instance db = rheo::open();
    db.create_stream("orders", rheo::stream_options().partition_count(4));
    db.create_stream("audit", rheo::stream_options().set("partition_count", "2"));
    CHECK(db.list_streams() == names{"audit", "orders"});
    db.create_group("orders", "billing",
                    rheo::group_options().max_attempts(7).max_deliveries(3).ordering(rheo::ordering::key));
    db.create_group("orders", "shipping", rheo::group_options().set("max_attempts", "4"));
    CHECK(db.list_groups("orders") == names{"billing", "shipping"});
    CHECK(db.stream("orders").list_groups() == db.list_groups("orders"));

    rheo::group_info info = db.group_info("orders", "billing");
    CHECK(info.max_attempts == 7 && info.max_deliveries == 3 && info.ordering == rheo::ordering::key);
    CHECK(!info.oldest_unsettled_at && info.lag.partitions.size() == 4);
    CHECK(db.group_info("orders", "billing", {1, 1}).lag.partitions.size() == 1);
    db.update_group("orders", "billing", rheo::update_options().max_attempts(8));
    const rheo::group billing = db.group("orders", "billing");
    billing.update(rheo::update_options().max_deliveries(0));
    info = billing.info();
    CHECK(info.max_attempts == 8 && info.max_deliveries == 0);

    CHECK(billing.name() == "billing" && billing.stream() == "orders");
    CHECK(billing.instance().list_streams().size() == 2);
    billing.delete_group();
    db.delete_group("orders", "shipping");
    CHECK(db.list_groups("orders").empty());
    const rheo::stream orders = db.stream("orders");
    CHECK(orders.name() == "orders");
    orders.delete_stream(true);
    db.delete_stream("audit", true);
    CHECK(db.list_streams().empty());
}

void appending() {
    const rheo::instance db = rheo::open();
    db.create_stream("orders", rheo::stream_options().partition_count(4));
    const rheo::stream orders = db.stream("orders");
    const std::string payload = R"({"text":"a\u0000b"})" + std::string("\0\xff", 2); // kept as it is, whatever it is
    const rheo::event event = db.append_event("orders", rheo::json(payload),
                                              rheo::append_options()
                                                  .id("one")
                                                  .key("21")
                                                  .type("placed")
                                                  .metadata(R"({"producer":"test"})")
                                                  .timestamp(rheo::from_micros(1'234'567)));
    CHECK(event.id() == "one" && event.stream() == "orders" && event.partition() == 0 && event.sequence() == 1);
    CHECK(event.key() == "21" && event.type() == "placed" && event.metadata() == R"({"producer":"test"})");
    CHECK(event.timestamp() == rheo::from_micros(1'234'567) && event.encoding() == rheo::encoding::json);
    CHECK(event.payload() == payload && !event.deduplicated());
    const rheo::event plain = orders.append_event(rheo::bytes(payload.data(), 3));
    CHECK(plain.payload() == payload.substr(0, 3) && plain.encoding() == rheo::encoding::bytes);
    CHECK(!plain.key() && !plain.type() && plain.metadata() == "{}" && plain.id().size() == 36);

    rheo::append_options options;
    options.id("two").key("foobar");
    rheo::position position = db.append("orders", rheo::bytes("2"), options);
    CHECK(position.partition == 2 && position.sequence == 1 && !position.deduplicated);
    position = orders.append(rheo::bytes("2 again"), options);
    CHECK(position.partition == 2 && position.sequence == 1 && position.deduplicated);
    CHECK(orders.append_event(rheo::bytes("2 again"), options).payload() == "2");
    position = orders.append(rheo::bytes("3"), options.clear().partition(3));
    CHECK(position.partition == 3 && !position.deduplicated);
    CHECK(orders.append(rheo::bytes({}), rheo::append_options().set("partition", "3")).sequence == 2);

    rheo::batch batch;
    CHECK(batch.empty());
    batch.add(rheo::json("1")).add(rheo::json("2"), rheo::append_options().type("own"));
    CHECK(batch.size() == 2);
    const rheo::event_list events =
        db.append_batch("orders", batch, rheo::append_options().type("shared").partition(1));
    CHECK(events.size() == 2 && events[0].type() == "shared" && events[1].type() == "own");
    CHECK(events[1].partition() == 1 && events[1].sequence() == 2);
    batch.clear();
    CHECK(orders.append_batch(batch).empty());
    CHECK(orders.append_batch(batch.add(rheo::bytes("x"))).size() == 1);
}

// Three events in partition 0, two in partition 1: a1 b1 a2 b2 a3, a second apart.
rheo::instance open_with_five_events() {
    rheo::instance db = rheo::open("memory:", rheo::open_options().clock_start(rheo::from_micros(10'000'000)));
    db.create_stream("orders", rheo::stream_options().partition_count(2));
    std::int64_t seconds = 0;
    for (const std::string_view id : {"a1", "b1", "a2", "b2", "a3"}) {
        db.append("orders", rheo::json(R"({"n":)" + std::string(id.substr(1)) + "}"),
                  rheo::append_options()
                      .id(id)
                      .partition(id[0] == 'b' ? 1 : 0)
                      .timestamp(rheo::from_micros(seconds++ * 1'000'000)));
    }
    return db;
}

void reading() {
    const rheo::instance db = open_with_five_events();
    const rheo::stream orders = db.stream("orders");
    CHECK(ids(db.read("orders")) == names{"a1", "a2", "a3"} && ids(orders.read(1)) == names{"b1", "b2"});
    CHECK(ids(orders.read(0, 1, 1)) == names{"a2"});
    rheo::event_list events;
    db.read_into("orders", 0, 2, 100, events);
    CHECK(ids(events) == names{"a3"} && events.begin()->id() == "a3" && ++events.begin() == events.end());
    orders.read_into(1, 2, 100, events);
    CHECK(events.empty() && !events.next_cursor());

    CHECK(db.get("orders", "b2")->sequence() == 2 && !db.get("orders", "c1"));
    CHECK(orders.get("a1")->payload() == R"({"n":1})" && !orders.get("c1"));
}

void querying() {
    const rheo::instance db = open_with_five_events();
    const rheo::stream orders = db.stream("orders");
    const auto second = [](std::int64_t n) { return rheo::from_micros(n * 1'000'000); };
    CHECK(orders.query().size() == 5 && db.query("orders").size() == 5);
    CHECK(ids(db.query("orders", rheo::query().where(R"({"n":{"gt":1}})"))) == names{"a2", "b2", "a3"});
    CHECK(ids(orders.query(rheo::query().from(second(1)).to(second(2)))) == names{"b1", "a2"});
    CHECK(ids(orders.query(rheo::query().after_sequence(1).until_sequence(2))) == names{"a2", "b2"});
    CHECK(ids(orders.query(rheo::query().order_by(rheo::order_field::timestamp, rheo::direction::desc).limit(2))) ==
          names{"a3", "b2"});
    CHECK(ids(orders.query(rheo::query().order_by(rheo::order_field::sequence).set("limit", "1"))) == names{"a1"});

    rheo::query by_two;
    by_two.limit(2);
    rheo::event_list page = db.query_page("orders", by_two);
    CHECK(ids(page) == names{"a1", "b1"});
    page = orders.query_page(by_two, page.next_cursor());
    CHECK(ids(page) == names{"a2", "b2"});
    page = db.query_page("orders", by_two, page.next_cursor());
    CHECK(ids(page) == names{"a3"} && !page.next_cursor());

    names seen;
    for (const rheo::event_view event : db.query_stream("orders", by_two)) {
        seen.emplace_back(event.id());
    }
    CHECK(seen == names{"a1", "b1", "a2", "b2", "a3"});
    rheo::event_stream rest = orders.query_stream();
    CHECK(rest.next()->id() == "a1" && rest.begin()->id() == "b1" && rest.next()->id() == "a2");
}

void starting_replaying_and_resetting() {
    const rheo::instance db = open_with_five_events();
    const auto total = [&db](const rheo::group_options &options) {
        db.create_group("orders", "billing", options);
        const std::uint64_t total = db.lag("orders", "billing").total;
        db.delete_group("orders", "billing");
        return total;
    };
    CHECK(total({}) == 5 && total(rheo::group_options().start_after(1)) == 3);
    CHECK(total(rheo::group_options().start_after_in(0, 3)) == 2);
    CHECK(total(rheo::group_options().start_at(rheo::from_micros(2'000'000))) == 3);
    CHECK(total(rheo::group_options().start_after(9).partitions({1})) == 3);

    db.create_group("orders", "billing");
    const rheo::group billing = db.group("orders", "billing");
    const auto ack_all = [&] { return billing.ack_many(billing.fetch()).size(); };
    CHECK(ack_all() == 5);
    CHECK(db.replay("orders", "billing", rheo::replay_options().from_sequence(2)) == 1 && ack_all() == 1);
    CHECK(billing.replay(rheo::replay_options().from_sequence_in(1, 0)) == 2 && ack_all() == 2);
    CHECK(billing.replay(rheo::replay_options().from(rheo::from_micros(4'000'000))) == 1 && ack_all() == 1);
    CHECK(billing.replay(rheo::replay_options().add_event_id("a1").add_event_id("none")) == 1 && ack_all() == 1);
    CHECK(billing.replay(rheo::replay_options().query(rheo::query().where(R"({"n":2})"))) == 2 && ack_all() == 2);
    CHECK(billing.replay(rheo::replay_options().query({})) == 5 && ack_all() == 5);
    CHECK(billing.replay(rheo::replay_options().set("from_sequence", "0").partitions({1})) == 2 && ack_all() == 2);
    // An empty set is none of the partitions, and not all of them.
    CHECK(billing.replay(rheo::replay_options().from_sequence(0).partitions(std::vector<std::uint32_t>())) == 0);

    billing.reset(rheo::reset_options().confirm());
    CHECK(ack_all() == 5);
    db.reset_group("orders", "billing", rheo::reset_options().confirm().start_after(2));
    CHECK(ack_all() == 1);
    billing.reset(rheo::reset_options().confirm().start_after_in(1, 1));
    CHECK(ack_all() == 1);
    billing.reset(rheo::reset_options().confirm(true).start_at(rheo::from_micros(0)).partitions({0}));
    CHECK(ack_all() == 3);
    billing.reset(rheo::reset_options().set("confirm", "true").set("partitions", "[]"));
    CHECK(ack_all() == 0);
}

void fetching_and_looking_at_progress() {
    const rheo::instance db = open_with_five_events();
    db.create_group("orders", "billing");
    const rheo::group billing = db.group("orders", "billing");
    CHECK(db.fetch("orders", "billing", rheo::fetch_options().limit(0)).empty());
    CHECK(billing.fetch(rheo::fetch_options().partitions({})).empty());
    rheo::lease_list leases;
    billing.fetch_into(rheo::fetch_options().partitions({1}).set("limit", "1"), leases);
    CHECK(leases.size() == 1 && leases[0].event().id() == "b1" && leases.begin()->payload() == R"({"n":1})");
    billing.ack(leases[0]);
    db.fetch_into("orders", "billing", rheo::fetch_options().limit(3), leases);
    CHECK(leases.size() == 3);

    const rheo::lag lag = db.lag("orders", "billing");
    CHECK(lag.stream == "orders" && lag.group == "billing" && lag.total == 4 && lag.partitions.size() == 2);
    const rheo::partition_lag &second = lag.partitions.at(1);
    CHECK(second.partition == 1 && second.frontier == 1 && second.high_watermark == 2 && second.lag == 1);
    CHECK(billing.lag({1}).total == 1 && billing.lag(std::vector<std::uint32_t>()).total == 0);
    const rheo::group_info info = billing.info({0, 1});
    CHECK(info.lag.total == 4 && info.inflight_count == 3 && info.available_count == 0);
    CHECK(info.delayed_count == 0 && info.dead_letter_count == 0);
    CHECK(info.oldest_unsettled_at == rheo::from_micros(0));
}

void dead_letters() {
    const rheo::instance db = open_with_five_events();
    db.create_group("orders", "billing");
    const rheo::group billing = db.group("orders", "billing");
    billing.reject_many(billing.fetch(), "broken").check();
    const std::vector<rheo::dead_letter> letters = db.dead_letters("orders", "billing");
    CHECK(letters.size() == 5 && letters[0].event.id() == "a1" && letters[4].event.id() == "b2");
    CHECK(db.group_info("orders", "billing").dead_letter_count == 5);
    const auto third = billing.dead_letters(rheo::dead_letter_options().limit(1).after("a2"));
    CHECK(third.size() == 1 && third[0].event.id() == "a3");
    CHECK(billing.dead_letters(rheo::dead_letter_options().set("limit", "9").partitions({1})).size() == 2);

    CHECK(db.discard_dead_letters("orders", "billing", {"a1", "none"}) == 1);
    CHECK(billing.discard_dead_letters({letters[1].event.id()}) == 1 && billing.discard_dead_letters({}) == 0);
    CHECK(billing.discard_all_dead_letters() == 3);
    CHECK(db.discard_all_dead_letters("orders", "billing") == 0);
}

void trimming() {
    const rheo::instance db = open_with_five_events();
    db.create_group("orders", "billing");
    const rheo::stream orders = db.stream("orders");
    const rheo::group billing = db.group("orders", "billing");
    CHECK(db.trim("orders", rheo::trim_options().max_len(0)) == 0); // the group has not passed anything

    const rheo::stream_info before = db.stream_info("orders");
    CHECK(before.stream == "orders" && before.partitions.size() == 2);
    const rheo::partition_info &first = before.partitions[0];
    CHECK(first.partition == 0 && first.first_sequence == 1 && first.high_watermark == 3);
    CHECK(first.bytes == 3 * (R"({"n":1})"sv.size() + "a1"sv.size()));
    CHECK(first.held_by->group == "billing" && first.held_by->sequence == 1 && !first.held_by->dead_letter);

    const rheo::lease_list leases = billing.fetch(rheo::fetch_options().partitions({0}));
    billing.reject(leases[0]);
    billing.ack(leases[1]);
    billing.ack(leases[2]);
    CHECK(orders.info().partitions[0].held_by->dead_letter);
    CHECK(billing.discard_all_dead_letters() == 1);
    CHECK(!orders.info().partitions[0].held_by);

    CHECK(orders.trim(rheo::trim_options().before_sequence(2)) == 1);
    CHECK(orders.trim(rheo::trim_options().before_sequence_in(0, 3)) == 1);
    CHECK(orders.info().partitions[0].first_sequence == 3);
    CHECK(orders.trim(rheo::trim_options().max_age_ms(milliseconds(0))) == 1);
    CHECK(orders.trim(rheo::trim_options().max_bytes(0).force(false)) == 0);
    CHECK(orders.trim(rheo::trim_options().set("max_len", "1").force()) == 1);
    CHECK(ids(orders.read(1)) == names{"b2"});
}

} // namespace

int main() {
    the_library();
    times_keep_their_microseconds();
    an_instance();
    streams_and_groups();
    appending();
    reading();
    querying();
    starting_replaying_and_resetting();
    fetching_and_looking_at_progress();
    dead_letters();
    trimming();
}
