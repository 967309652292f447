// Replay after a bug: a consumer counted refunds as sales. The events are all still there, so once the bug is mended,
// the group is given again what the bug spoiled, and only that.
//
// prints: with the bug: 62
// prints: events to do again: 2
// prints: without it: 22

#include <iostream>
#include <map>
#include <rheo.hpp>
#include <string>

// What each event contributed, by its id. Events may come more than once, so each replaces what it said before.
using ledger = std::map<std::string, long, std::less<>>;

long total(const ledger &ledger) {
    long sum = 0;
    for (const auto &[id, amount] : ledger) {
        sum += amount;
    }
    return sum;
}

// Takes everything that the group is offered.
template <class Amount>
void consume(const rheo::group &accounts, ledger &ledger, Amount amount) {
    for (auto leases = accounts.fetch(); !leases.empty(); leases = accounts.fetch()) {
        for (const rheo::lease_view lease : leases) {
            ledger[std::string(lease.event().id())] = amount(lease.event());
        }
        accounts.ack_many(leases).check();
    }
}

long with_the_bug(rheo::event_view event) {
    return std::stol(std::string(event.payload()));
}

long without_the_bug(rheo::event_view event) {
    return event.type() == "refund" ? -with_the_bug(event) : with_the_bug(event);
}

int main() try {
    const rheo::instance db = rheo::open("memory:");
    db.create_stream("payments");
    db.create_group("payments", "accounts");
    const rheo::stream payments = db.stream("payments");
    payments.append(rheo::json("30"), rheo::append_options().type("sale"));
    payments.append(rheo::json("15"), rheo::append_options().type("refund"));
    payments.append(rheo::json("12"), rheo::append_options().type("sale"));
    payments.append(rheo::json("5"), rheo::append_options().type("refund"));

    const rheo::group accounts = db.group("payments", "accounts");
    ledger ledger;
    consume(accounts, ledger, with_the_bug);
    std::cout << "with the bug: " << total(ledger) << '\n';

    const auto refunds = rheo::query().where(R"({"type": "refund"})");
    std::cout << "events to do again: " << accounts.replay(rheo::replay_options().query(refunds)) << '\n';
    consume(accounts, ledger, without_the_bug);
    std::cout << "without it: " << total(ledger) << '\n';
} catch (const rheo::error &error) {
    std::cerr << error.what() << '\n';
    return 1;
}
