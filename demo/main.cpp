// A week of earthquakes through Rheo: appended in C (ingest.c), consumed in C++ by two groups, and counted to the last
// number. `make demo` builds and runs it.

#include "ingest.h"
#include "report.hpp"

#include <rheo.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <future>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;

// What the file holds, and so what every part of the program must find, each in its own way.
constexpr std::uint64_t all_events = 1707;
constexpr std::uint64_t strong_earthquakes = 85; // of magnitude 4.5 or more
constexpr std::uint64_t no_earthquakes = 28;     // blasts and explosions
constexpr std::array<std::uint64_t, 4> events_per_partition = {713, 231, 758, 5};
const counts events_per_type = {{"earthquake", 1679}, {"explosion", 15}, {"quarry blast", 13}};

constexpr std::array worker_names = {"worker 1", "worker 2", "worker 3", "worker 4"};
constexpr std::uint64_t leases_at_a_time = 10;

// ---------------------------------------------------------------------- the group alerts: four workers that compete

// What one worker did.
struct tally {
    std::uint64_t printed = 0;
    std::uint64_t rejected = 0;
    std::uint64_t silent = 0;
    std::set<std::string> held;       // ids of the events that it ended with, unsettled
    std::set<std::string> taken_over; // ids of the events that it settled after another one's lease had expired
    stopwatch::duration worked{};     // without what it waited
};

std::string field(rheo::event_view event, const char *name) {
    const json_text value = json_field({event.payload().data(), event.payload().size()}, name);
    return {value.data, value.len};
}

void print_alert(rheo::event_view event, double magnitude, const char *worker) {
    const std::time_t time = std::chrono::system_clock::to_time_t(event.timestamp());
    std::tm utc{};
    gmtime_r(&time, &utc);
    std::array<char, sizeof "2018-02-06 15:50"> when{};
    std::strftime(when.data(), when.size(), "%Y-%m-%d %H:%M", &utc);
    std::printf("  %.1f  %s  %s  %s\n", magnitude, when.data(), worker, field(event, "place").c_str());
}

// Looks at one event and settles it.
void handle(const rheo::group &alerts, rheo::lease_view lease, const char *worker, tally &tally) {
    const rheo::event_view event = lease.event();
    const double magnitude = std::strtod(field(event, "mag").c_str(), nullptr);
    if (event.type() != "earthquake") {
        alerts.reject(lease, std::string(event.type().value_or("nothing known")) + ": not an earthquake");
        ++tally.rejected;
    } else if (magnitude >= 4.5) {
        alerts.ack(lease); // first: only the holder of the lease gets past here, so that nothing is printed twice
        print_alert(event, magnitude, worker);
        ++tally.printed;
    } else {
        alerts.ack(lease);
        ++tally.silent;
    }
    if (lease.attempt() > 1) {
        tally.taken_over.emplace(event.id());
    }
}

rheo::fetch_options fetch_options_of(const char *worker) {
    return rheo::fetch_options().consumer_id(worker).limit(leases_at_a_time).lease_ms(500ms);
}

// Works until the group has settled everything; `finished` ends the waits of those who hope for more.
tally work(const rheo::group &alerts, const char *worker, rheo::lease_list leases, const rheo::interrupt &finished) {
    const rheo::fetch_options options = fetch_options_of(worker).wait_ms(10s).interrupt(finished);
    tally tally;
    stopwatch::duration waited{};
    const auto started = stopwatch::now();
    while (!leases.empty()) {
        for (const rheo::lease_view lease : leases) {
            try {
                handle(alerts, lease, worker, tally);
            } catch (const rheo::error &error) {
                // Too slow: the lease expired, and somebody else has the event by now. Nothing is lost by that.
                if (error.settle_class() != rheo::settle_class::lost) {
                    throw;
                }
            }
        }
        if (alerts.lag().total == 0) {
            finished.fire();
        }
        const auto asked = stopwatch::now();
        alerts.fetch_into(options, leases);
        if (leases.empty() || leases[0].attempt() > 1) {
            waited += stopwatch::now() - asked; // for the end, or for a lease to expire
        }
    }
    tally.worked = stopwatch::now() - started - waited;
    return tally;
}

// Ends with its leases unsettled, as if it had crashed.
tally give_up(rheo::lease_list leases) {
    tally tally;
    for (const rheo::lease_view lease : leases) {
        tally.held.emplace(lease.event().id());
    }
    return tally;
}

// Runs the workers, each in a thread of its own; the last one gives up.
std::vector<tally> run_alerts(const rheo::group &alerts) {
    // Each gets its first leases before any of them starts, so that the last one has something to give up.
    std::vector<rheo::lease_list> leases;
    for (const char *worker : worker_names) {
        leases.push_back(alerts.fetch(fetch_options_of(worker)));
    }
    const rheo::interrupt finished;
    std::vector<std::future<tally>> workers;
    std::promise<void> start;
    const std::shared_future<void> started = start.get_future().share();
    for (std::size_t n = 0; n != worker_names.size(); ++n) {
        workers.push_back(std::async(std::launch::async, [&, n, started] {
            started.wait();
            return n + 1 == worker_names.size() ? give_up(std::move(leases[n]))
                                                : work(alerts, worker_names[n], std::move(leases[n]), finished);
        }));
    }
    start.set_value();
    std::vector<tally> tallies;
    for (std::future<tally> &worker : workers) {
        tallies.push_back(worker.get());
    }
    return tallies;
}

// What all of them did, taken together. They worked side by side, so the busiest one says how long it took.
tally sum_up(const std::vector<tally> &tallies) {
    tally sum;
    for (const tally &one : tallies) {
        sum.printed += one.printed;
        sum.rejected += one.rejected;
        sum.silent += one.silent;
        sum.held.insert(one.held.begin(), one.held.end());
        sum.taken_over.insert(one.taken_over.begin(), one.taken_over.end());
        sum.worked = std::max(sum.worked, one.worked);
    }
    return sum;
}

// ----------------------------------------------------------------------- the group archive: one reader, in batches

// Acks everything and counts it by type.
counts run_archive(const rheo::group &archive) {
    const rheo::fetch_options options = rheo::fetch_options().limit(100);
    rheo::lease_list leases; // filled again by each fetch
    rheo::results results;   // and by each ack
    counts by_type;
    for (archive.fetch_into(options, leases); !leases.empty(); archive.fetch_into(options, leases)) {
        for (const rheo::lease_view lease : leases) {
            ++by_type[std::string(lease.event().type().value_or("nothing known"))];
        }
        archive.ack_many_into(leases, results);
        results.check();
    }
    return by_type;
}

// -------------------------------------------------------------------------------------------------- what is reported

// Appends the file; of so many events the stream knows already.
void append_file(const rheo::instance &db, const char *path, const std::string &time, std::uint64_t known,
                 verdict &verdict) {
    ingest_report report{};
    const auto started = stopwatch::now();
    if (!ingest(db.handle(), "earthquakes", path, &report)) {
        throw std::runtime_error("the file was not appended");
    }
    const auto taken = stopwatch::now() - started;
    row(time, {number(report.lines), number(report.appended), number(report.known), milliseconds(taken),
               per_second(report.lines, taken)});
    verdict.expect(time + ": lines", report.lines, all_events);
    verdict.expect(time + ": appended", report.appended, all_events - known);
    verdict.expect(time + ": known", report.known, known);
    verdict.expect(time + ": same byte for byte", report.identical, all_events);
}

void report_workers(const std::vector<tally> &tallies) {
    std::vector<std::string> names, settled, taken_over, held;
    for (const tally &one : tallies) {
        names.emplace_back(worker_names.at(names.size()));
        settled.push_back(number(one.printed + one.rejected + one.silent));
        taken_over.push_back(number(one.taken_over.size()));
        held.push_back(number(one.held.size()));
    }
    row("", names);
    row("events settled", settled);
    row("of them, taken over", taken_over);
    row("ended holding", held);
}

void report_partitions(const rheo::stream &stream, const std::vector<const rheo::group *> &groups, verdict &verdict) {
    std::vector<std::string> names, events;
    std::uint64_t together = 0;
    for (const rheo::partition_info &partition : stream.info().partitions) {
        names.push_back("partition " + std::to_string(partition.partition));
        events.push_back(number(partition.high_watermark));
        together += partition.high_watermark;
        verdict.expect(names.back(), partition.high_watermark, events_per_partition.at(partition.partition));
    }
    names.emplace_back("together");
    events.push_back(number(together));
    verdict.expect("events", together, all_events);
    row("", names);
    row("events", events);

    for (const rheo::group *group : groups) {
        const std::string name(group->name());
        const rheo::lag lag = group->lag();
        std::vector<std::string> frontiers, lags;
        for (const auto &[partition, progress] : lag.partitions) {
            frontiers.push_back(number(progress.frontier));
            lags.push_back(number(progress.lag));
            verdict.expect(name + ": frontier of " + names.at(partition), progress.frontier,
                           events_per_partition.at(partition));
        }
        lags.push_back(number(lag.total));
        verdict.expect(name + ": lag", lag.total, 0);
        row(name + ": frontier", frontiers);
        row(name + ": lag", lags);
    }
}

// How a group came out.
struct outcome {
    const rheo::group *group;
    std::uint64_t dead_letters; // that it must have
    std::uint64_t taken_over;
    stopwatch::duration taken;
    stopwatch::duration worked;
};

void report_groups(const std::vector<outcome> &outcomes, verdict &verdict) {
    std::vector<std::string> names, inflight, dead_letters, taken_over, taken, waited, speed;
    for (const outcome &outcome : outcomes) {
        const rheo::group_info info = outcome.group->info();
        names.emplace_back(outcome.group->name());
        inflight.push_back(number(info.inflight_count));
        dead_letters.push_back(number(info.dead_letter_count));
        taken_over.push_back(number(outcome.taken_over));
        taken.push_back(milliseconds(outcome.taken));
        waited.push_back(milliseconds(outcome.taken - outcome.worked));
        speed.push_back(per_second(all_events, outcome.worked));
        verdict.expect(names.back() + ": in flight", info.inflight_count, 0);
        verdict.expect(names.back() + ": dead letters", info.dead_letter_count, outcome.dead_letters);
    }
    row("", names);
    row("in flight", inflight);
    row("dead letters", dead_letters);
    row("leases taken over", taken_over);
    row("time taken", taken);
    row("of it, waiting for expiry", waited);
    row("events per second without that", speed);
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

void report_types(const rheo::stream &stream, const counts &archived, verdict &verdict) {
    std::vector<std::string> types, counted, found;
    counts by_query;
    for (const auto &[type, count] : archived) {
        const rheo::query query = rheo::query().where(R"({"type": ")" + type + R"("})").limit(all_events);
        by_query[type] = stream.query(query).size();
        types.push_back(type);
        counted.push_back(number(count));
        found.push_back(number(by_query[type]));
    }
    row("", types);
    row("archive has counted", counted);
    row("a query finds", found);
    verdict.expect("types that archive counted", archived, events_per_type);
    verdict.expect("types that a query finds", by_query, events_per_type);
}

int run(const char *path) {
    verdict verdict;
    const rheo::instance db = rheo::open("memory:");
    db.create_stream("earthquakes", rheo::stream_options().partition_count(events_per_partition.size()));
    db.create_group("earthquakes", "alerts");
    db.create_group("earthquakes", "archive");
    const rheo::stream earthquakes = db.stream("earthquakes");
    const rheo::group alerts = db.group("earthquakes", "alerts");
    const rheo::group archive = db.group("earthquakes", "archive");

    title("A week of earthquakes, appended from C, twice: an id that the stream holds is not appended again");
    row("", {"lines", "appended", "known", "time taken", "per second"});
    append_file(db, path, "first", 0, verdict);
    append_file(db, path, "again", all_events, verdict);

    title("The group alerts: magnitude 4.5 and above. Worker 4 ends holding leases; the others take them over");
    auto started = stopwatch::now();
    const std::vector<tally> tallies = run_alerts(alerts);
    const auto alerts_taken = stopwatch::now() - started;
    const tally alerted = sum_up(tallies);
    verdict.expect("printed", alerted.printed, strong_earthquakes);
    verdict.expect("rejected", alerted.rejected, no_earthquakes);
    verdict.expect("acked silently", alerted.silent, all_events - strong_earthquakes - no_earthquakes);
    verdict.expect("held by worker 4", alerted.held.size(), leases_at_a_time);
    for (const std::string &id : alerted.held) {
        verdict.expect("taken over from worker 4: " + id, alerted.taken_over.count(id), 1);
    }

    started = stopwatch::now();
    const counts archived = run_archive(archive);
    const auto archive_taken = stopwatch::now() - started;

    title("What the workers of alerts did");
    report_workers(tallies);
    title("How far the groups have come");
    report_partitions(earthquakes, {&alerts, &archive}, verdict);
    title("How the groups came out");
    report_groups({{&alerts, no_earthquakes, alerted.taken_over.size(), alerts_taken, alerted.worked},
                   {&archive, 0, 0, archive_taken, archive_taken}},
                  verdict);
    title("Why alerts has dead letters");
    report_dead_letters(alerts, verdict);
    title("What there was");
    report_types(earthquakes, archived, verdict);
    return verdict.pronounce();
}

} // namespace

int main(int argc, char **argv) {
    try {
        return run(argc > 1 ? argv[1] : "demo/earthquakes.ndjson");
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return EXIT_FAILURE;
    }
}
