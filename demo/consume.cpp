// Consumes a week of earthquakes from a journal, with two groups:
//
//     consume JOURNAL [ALERTS]
//
// It may be killed at any moment and run again, on the same journal: it goes on where the groups are. An event may then
// come a second time, so whatever is kept of one is kept under its id, in the journal, and nothing in memory alone.
//
// With ALERTS it stands still after so many alerts, each thread in the middle of something, so that whoever kills it
// comes neither too early nor too late.

#include "json.h"
#include "report.hpp"

#include <rheo.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <future>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;

// What the file holds, and so what every part of the program must find, each in its own way.
constexpr std::uint64_t all_events = 1707;
constexpr std::uint64_t strong_earthquakes = 85; // of magnitude 4.5 or more
constexpr std::uint64_t no_earthquakes = 28;     // blasts and explosions
constexpr std::array<std::uint64_t, 4> events_per_partition = {713, 231, 758, 5};
const counts events_per_type = {{"earthquake", 1679}, {"explosion", 15}, {"quarry blast", 13}};

std::atomic<long> alerts_before_standstill = 0;

// What this run did for a group. An earlier run may have done the rest.
struct tally {
    std::atomic<std::uint64_t> settled = 0;
    std::atomic<std::uint64_t> taken_over = 0; // of them, events that a run before this one had leased, and not settled
    stopwatch::duration time{};
};

std::string field(rheo::event_view event, const char *name) {
    const json_text value = json_field({event.payload().data(), event.payload().size()}, name);
    return {value.data, value.len};
}

std::string alert(rheo::event_view event, double magnitude) {
    const std::time_t time = std::chrono::system_clock::to_time_t(event.timestamp());
    std::tm utc{};
    gmtime_r(&time, &utc);
    std::array<char, sizeof "2018-02-06 15:50"> when{};
    std::strftime(when.data(), when.size(), "%Y-%m-%d %H:%M", &utc);
    std::array<char, 200> line{};
    std::snprintf(line.data(), line.size(), "%.1f  %s  %s", magnitude, when.data(), field(event, "place").c_str());
    return line.data();
}

// --------------------------------------------------------------------- the group alerts: several workers that compete

// Gives an alert, unless it is among those sent. First the deed, then the note of it: if the program ends in between,
// the alert is given twice. The other way round it would never be given.
void give_alert(const rheo::stream &sent, rheo::event_view event, double magnitude, std::uint64_t settled) {
    if (sent.get(event.id())) {
        return;
    }
    const std::string text = alert(event, magnitude);
    std::printf("%9s  %s\n", number(settled).c_str(), text.c_str());
    std::fflush(stdout);
    if (--alerts_before_standstill == 0) {
        std::raise(SIGSTOP);
    }
    sent.append(rheo::bytes(text), rheo::append_options().id(event.id()));
}

// Looks at one event and says what is to become of it. Four handlers do so at a time, each in a thread of the consumer's.
rheo::outcome judge(const rheo::stream &sent, rheo::lease_view lease, std::uint64_t settled) {
    const rheo::event_view event = lease.event();
    const double magnitude = std::strtod(field(event, "mag").c_str(), nullptr);
    if (event.type() != "earthquake") {
        return rheo::outcome::reject(std::string(event.type().value_or("nothing known")) + ": not an earthquake");
    }
    if (magnitude >= 4.5) {
        give_alert(sent, event, magnitude, settled);
    }
    return rheo::outcome::ack();
}

// Works until the group has settled everything.
void run_alerts(const rheo::group &alerts, const rheo::stream &sent, tally &tally) {
    const auto started = stopwatch::now();
    const auto handle = [&](rheo::lease_view lease) {
        const rheo::outcome outcome = judge(sent, lease, tally.settled);
        ++tally.settled;
        tally.taken_over += lease.attempt() > 1;
        return outcome;
    };
    const rheo::consumer consumer = alerts.consumer(handle, rheo::consumer_options().concurrency(4));
    while (alerts.lag().total != 0 && !consumer.wait(1ms)) { // throws what ends a consumer by itself
    }
    consumer.close();
    tally.time = stopwatch::now() - started;
}

// ----------------------------------------------------------------------- the group archive: one reader, in batches

// Copies everything, under its id, and acks it. What an earlier run copied and did not ack is not copied twice.
void run_archive(const rheo::group &archive, const rheo::stream &copies, tally &tally) {
    const auto started = stopwatch::now();
    const auto options = rheo::fetch_options().limit(100);
    rheo::lease_list leases;
    rheo::results results;
    rheo::batch batch;
    for (archive.fetch_into(options, leases); !leases.empty(); archive.fetch_into(options, leases)) {
        batch.clear();
        for (const rheo::lease_view lease : leases) {
            const rheo::event_view event = lease.event();
            batch.add(rheo::json(event.payload()),
                      rheo::append_options().id(event.id()).type(event.type().value_or("nothing known")));
            tally.taken_over += lease.attempt() > 1;
        }
        copies.append_batch(batch); // one record in the journal: all of them or none
        archive.ack_many_into(leases, results);
        results.check();
        tally.settled += leases.size();
    }
    tally.time = stopwatch::now() - started;
}

// -------------------------------------------------------------------------------------------------- what is reported

void report_partitions(const rheo::stream &stream, const std::vector<const rheo::group *> &groups, verdict &verdict) {
    std::vector<std::string> names, events;
    for (const rheo::partition_info &partition : stream.info().partitions) {
        names.push_back("partition " + std::to_string(partition.partition));
        events.push_back(number(partition.high_watermark));
        verdict.expect(names.back(), partition.high_watermark, events_per_partition.at(partition.partition));
    }
    row("", names);
    row("events", events);
    for (const rheo::group *group : groups) {
        const std::string name(group->name());
        const rheo::lag lag = group->lag();
        std::vector<std::string> frontiers;
        for (const auto &[partition, progress] : lag.partitions) {
            frontiers.push_back(number(progress.frontier));
            verdict.expect(name + ": frontier of " + names.at(partition), progress.frontier,
                           events_per_partition.at(partition));
        }
        verdict.expect(name + ": lag", lag.total, 0);
        row(name + ": frontier", frontiers);
    }
}

void report_groups(const std::vector<const rheo::group *> &groups, verdict &verdict) {
    std::vector<std::string> names, lags, inflight, dead_letters;
    for (const rheo::group *group : groups) {
        const rheo::group_info info = group->info();
        names.emplace_back(group->name());
        lags.push_back(number(info.lag.total));
        inflight.push_back(number(info.inflight_count));
        dead_letters.push_back(number(info.dead_letter_count));
        verdict.expect(names.back() + ": in flight", info.inflight_count, 0);
        verdict.expect(names.back() + ": dead letters", info.dead_letter_count,
                       names.back() == "alerts" ? no_earthquakes : 0);
    }
    row("", names);
    row("lag", lags);
    row("in flight", inflight);
    row("dead letters", dead_letters);
}

void report_dead_letters(const rheo::group &group, verdict &verdict) {
    counts by_reason;
    for (const rheo::dead_letter &letter : group.dead_letters()) {
        ++by_reason[letter.reason];
    }
    for (const auto &[reason, count] : by_reason) {
        row(reason, {number(count)});
    }
    verdict.expect("reasons", by_reason,
                   {{"explosion: not an earthquake", events_per_type.at("explosion")},
                    {"quarry blast: not an earthquake", events_per_type.at("quarry blast")}});
}

// What a query finds, by type.
counts types_in(const rheo::stream &stream) {
    counts found;
    for (const auto &[type, count] : events_per_type) {
        found[type] = stream.query(rheo::query().where(R"({"type": ")" + type + R"("})").limit(2 * all_events)).size();
    }
    return found;
}

void report_types(const rheo::stream &earthquakes, const rheo::stream &copies, verdict &verdict) {
    std::vector<std::string> types, there, copied;
    const counts in_stream = types_in(earthquakes), in_archive = types_in(copies);
    for (const auto &[type, count] : in_stream) {
        types.push_back(type);
        there.push_back(number(count));
        copied.push_back(number(in_archive.at(type)));
    }
    row("", types);
    row("there are", there);
    row("archive has", copied);
    verdict.expect("types in the stream", in_stream, events_per_type);
    verdict.expect("types in the archive", in_archive, events_per_type);
}

// Calls what creates a stream or a group, which an earlier run may have done.
template <typename Create>
void ensure(const Create &create) {
    try {
        create();
    } catch (const rheo::error &error) {
        if (error.code() != rheo::status::already_exists) {
            throw;
        }
    }
}

rheo::stream stream(const rheo::instance &db, const char *name) {
    ensure([&] { db.create_stream(name); });
    return db.stream(name);
}

rheo::group group(const rheo::instance &db, const char *name) {
    ensure([&] { db.create_group("earthquakes", name); });
    return db.group("earthquakes", name);
}

int run(const std::string &journal) {
    const rheo::instance db = rheo::open("journal:" + journal);
    const rheo::stream earthquakes = db.stream("earthquakes");
    const rheo::stream sent = stream(db, "alerts-sent");
    const rheo::stream copies = stream(db, "archive");
    const rheo::group alerts = group(db, "alerts");
    const rheo::group archive = group(db, "archive");

    title("Alerts: magnitude 4.5 and above");
    std::printf("  settled  alert\n");
    std::fflush(stdout);
    tally alerted, archived;
    auto archiving = std::async(std::launch::async, [&] { run_archive(archive, copies, archived); });
    run_alerts(alerts, sent, alerted);
    archiving.get();

    title("What this run did");
    row("", {"alerts", "archive"});
    row("events settled", {number(alerted.settled), number(archived.settled)});
    row("of them, taken over", {number(alerted.taken_over), number(archived.taken_over)});
    row("time taken", {milliseconds(alerted.time), milliseconds(archived.time)});
    row("events per second", {per_second(alerted.settled, alerted.time), per_second(archived.settled, archived.time)});

    verdict verdict;
    title("What came of it");
    report_partitions(earthquakes, {&alerts, &archive}, verdict);
    std::printf("\n");
    report_groups({&alerts, &archive}, verdict);
    std::printf("\n");
    report_dead_letters(alerts, verdict);
    std::printf("\n");
    report_types(earthquakes, copies, verdict);
    std::printf("\n");
    const std::uint64_t alerts_sent = sent.info().partitions.at(0).high_watermark;
    row("alerts sent", {number(alerts_sent)});
    verdict.expect("alerts sent", alerts_sent, strong_earthquakes);
    db.close();
    return verdict.pronounce();
}

} // namespace

int main(int argc, char **argv) {
    try {
        if (argc < 2 || argc > 3) {
            throw std::invalid_argument("usage: consume JOURNAL [ALERTS]");
        }
        if (argc == 3) {
            alerts_before_standstill = std::stol(argv[2]);
        }
        return run(argv[1]);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return EXIT_FAILURE;
    }
}
