// Telemetry: a hook is a function object, what it is given reads like the rest, and what it throws harms nobody.

#include "check.hpp"

#include <memory>
#include <vector>

namespace {

struct told {
    rheo::telemetry_name name;
    std::string text;
    std::string stream;
    std::optional<std::string> group;
    std::optional<std::uint32_t> partition;
    std::uint64_t count;
    std::uint64_t failed;
    bool timed;
    rheo::status error;
};

told copy(const rheo::telemetry_event &event) {
    return {event.name(),
            std::string(event.name_text()),
            std::string(event.stream()),
            event.group() ? std::optional(std::string(*event.group())) : std::nullopt,
            event.partition(),
            event.count(),
            event.failed(),
            event.duration().has_value(),
            event.error()};
}

void a_hook_hears_of_the_work() {
    std::vector<told> heard;
    const auto hook = [&heard](const rheo::telemetry_event &event) { heard.push_back(copy(event)); };
    const rheo::instance db = rheo::open("memory:", rheo::open_options().telemetry(hook));
    db.create_stream("orders", rheo::stream_options().partition_count(2));
    db.create_group("orders", "billing");
    db.append("orders", rheo::json("1"), rheo::append_options().partition(1));
    CHECK_THROWS(invalid_partition, db.append("orders", rheo::json("1"), rheo::append_options().partition(2)));
    db.lag("orders", "billing", {1});
    CHECK(heard.size() == 5);
    CHECK(heard[0].name == rheo::telemetry_name::stream_create && !heard[0].group && !heard[0].timed);
    CHECK(heard[1].text == "group.create" && heard[1].group == "billing" && heard[1].stream == "orders");
    CHECK(heard[2].name == rheo::telemetry_name::append && heard[2].count == 1 && heard[2].timed);
    CHECK(heard[3].error == rheo::status::invalid_partition && heard[3].count == 0 && heard[3].failed == 0);
    CHECK(heard[4].name == rheo::telemetry_name::group_frontier && heard[4].partition == 1);
}

void a_hook_lives_as_long_as_its_instances() {
    const auto token = std::make_shared<int>(0);
    {
        std::optional<rheo::instance> db;
        {
            const auto options = rheo::open_options().telemetry(
                [token](const rheo::telemetry_event &event) {
                    CHECK(!event.duration());
                    ++*token;
                    throw std::runtime_error("its own affair");
                },
                false);
            db = rheo::open("memory:", options);
            rheo::open("memory:", options).create_stream("other");
        }
        CHECK(token.use_count() == 2);
        db->create_stream("orders");
        CHECK(db->append("orders", rheo::bytes("x")).sequence == 1);
        CHECK(*token == 3);
    }
    CHECK(token.use_count() == 1);
    {
        auto options = rheo::open_options().telemetry([token](const rheo::telemetry_event &) { ++*token; });
        options.telemetry(nullptr);
        CHECK(token.use_count() == 1);
        rheo::open("memory:", options).create_stream("orders");
        CHECK(*token == 3);
    }
}

} // namespace

int main() {
    a_hook_hears_of_the_work();
    a_hook_lives_as_long_as_its_instances();
    return EXIT_SUCCESS;
}
