// Fan-out: every group gets every event, at its own pace. Two groups read the same orders; one of them is behind, which
// holds up nobody. A third one comes later and wants only what is new.
//
// prints: billing: 12 of ann
// prints: billing: 30 of bob
// prints: billing: 5 of ann
// prints: mailing: thank you, ann
// prints: behind: billing 0, mailing 2
// prints: audit: 8 of cleo

#include <iostream>
#include <rheo.hpp>

int main() try {
    const rheo::instance db = rheo::open("memory:");
    db.create_stream("orders");
    db.create_group("orders", "billing");
    db.create_group("orders", "mailing");
    const rheo::stream orders = db.stream("orders");
    orders.append(rheo::json("12"), rheo::append_options().key("ann"));
    orders.append(rheo::json("30"), rheo::append_options().key("bob"));
    orders.append(rheo::json("5"), rheo::append_options().key("ann"));

    const rheo::group billing = db.group("orders", "billing");
    for (const rheo::lease_view lease : billing.fetch()) {
        std::cout << "billing: " << lease.payload() << " of " << lease.event().key().value() << '\n';
        billing.ack(lease);
    }

    const rheo::group mailing = db.group("orders", "mailing");
    for (const rheo::lease_view lease : mailing.fetch(rheo::fetch_options().limit(1))) {
        std::cout << "mailing: thank you, " << lease.event().key().value() << '\n';
        mailing.ack(lease);
    }
    std::cout << "behind: billing " << billing.lag().total << ", mailing " << mailing.lag().total << '\n';

    // A start beyond the last event is the end. start_at, a time, and start_after_in, per partition, are other ways.
    db.create_group("orders", "audit", rheo::group_options().start_after(orders.info().partitions[0].high_watermark));
    orders.append(rheo::json("8"), rheo::append_options().key("cleo"));
    for (const rheo::lease_view lease : db.fetch("orders", "audit")) {
        std::cout << "audit: " << lease.payload() << " of " << lease.event().key().value() << '\n';
        db.ack(lease);
    }
} catch (const rheo::error &error) {
    std::cerr << error.what() << '\n';
    return 1;
}
