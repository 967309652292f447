// Settling: one lease, its token, many, many tokens; through the instance and through the group.

#include "check.hpp"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace {

using std::chrono::milliseconds;

// An instance with a manual clock, a stream and a group, and so many events.
struct shop {
    rheo::instance db = rheo::open("memory:", rheo::open_options().clock_start(rheo::from_micros(1'000'000)));
    rheo::group billing = db.group("orders", "billing");

    explicit shop(int events) {
        db.create_stream("orders");
        db.create_group("orders", "billing", rheo::group_options().max_attempts(2));
        for (int n = 0; n != events; ++n) {
            db.append("orders", rheo::bytes("x"));
        }
    }
};

void a_lease_says_what_it_is() {
    const shop shop(1);
    const rheo::lease_list leases =
        shop.billing.fetch(rheo::fetch_options().lease_ms(milliseconds(1500)).consumer_id("me"));
    const rheo::lease_view lease = leases[0];
    CHECK(lease.stream() == "orders" && lease.group() == "billing" && lease.consumer_id() == "me");
    CHECK(lease.lease_id().size() == 32 && lease.receipt() == lease.lease_id() && !lease.token().empty());
    CHECK(lease.attempt() == 1 && lease.lease_ms() == milliseconds(1500));
    CHECK(rheo::to_micros(lease.leased_at()) == 1'000'000 &&
          lease.expires_at() == lease.leased_at() + milliseconds(1500));
    CHECK(lease.event().sequence() == 1 && lease.payload() == "x");
}

void one_lease_or_its_token() {
    const shop shop(10);
    const rheo::lease_list leases = shop.billing.fetch();
    CHECK(leases.size() == 10);
    const std::string token(leases[1].token());
    shop.db.ack(leases[0]);
    shop.db.ack(token);
    shop.billing.release(leases[2]);
    shop.billing.release(leases[3].token());
    CHECK(shop.billing.info().available_count == 2);
    shop.db.retry(leases[4]);
    shop.db.retry(leases[5].token(), "not now", milliseconds(50));
    CHECK(shop.billing.info().available_count == 3 && shop.billing.info().delayed_count == 1);
    shop.billing.reject(leases[6], "broken");
    shop.billing.reject(leases[7].token());
    const std::vector<rheo::dead_letter> letters = shop.billing.dead_letters();
    CHECK(letters.size() == 2 && letters[0].reason == "broken" && letters[1].reason.empty());
    CHECK(letters[0].event.sequence() == 7 && letters[0].group == "billing" && letters[0].attempt == 1);
    CHECK(letters[0].dead_lettered_at == shop.db.now());

    shop.db.advance_clock(milliseconds(10));
    CHECK(shop.db.renew(leases[8]) == shop.db.now() + leases[8].lease_ms());
    CHECK(shop.db.renew(leases[9].token(), milliseconds(20)) == shop.db.now() + milliseconds(20));
    shop.db.advance_clock(milliseconds(30));
    CHECK(shop.billing.info().inflight_count == 1);
}

void a_kept_lease_settles_after_its_list_is_gone() {
    const shop shop(2);
    std::vector<rheo::lease> kept;
    for (const rheo::lease_view lease : shop.billing.fetch()) {
        kept.push_back(lease.clone());
    }
    shop.billing.ack(kept[0]);
    shop.db.reject(kept[1], "late");
    CHECK(shop.billing.lag().total == 0);
}

void many_of_a_list() {
    const shop shop(3);
    rheo::lease_list leases = shop.billing.fetch();
    const rheo::results renewed = shop.billing.renew_many(leases, milliseconds(7));
    CHECK(renewed.size() == 3 && renewed.failed() == 0);
    CHECK(renewed.expires_at(2) == shop.db.now() + milliseconds(7));
    CHECK(shop.db.renew_many(leases).expires_at(0) == shop.db.now() + leases[0].lease_ms());
    shop.db.release_many(leases).check();
    CHECK(shop.billing.info().available_count == 3);

    shop.billing.fetch_into({}, leases);
    CHECK(leases[0].attempt() == 1); // a release does not count
    shop.db.retry_many(leases, "again", milliseconds(5)).check();
    CHECK(shop.billing.info().delayed_count == 3);
    shop.db.advance_clock(milliseconds(5));

    shop.billing.fetch_into({}, leases);
    CHECK(leases[0].attempt() == 2);
    shop.billing.reject_many(leases, "enough").check();
    CHECK(shop.billing.dead_letters()[2].reason == "enough");
    CHECK(shop.billing.replay(rheo::replay_options().from_sequence(0)) == 3);

    shop.billing.fetch_into({}, leases);
    rheo::results results;
    shop.billing.ack_many_into(leases, results);
    CHECK(results.size() == 3 && results.failed() == 0);
    results.check();
    const rheo_results *handle = results.handle();
    shop.billing.ack_many_into(leases, results);
    CHECK(results.failed() == 3 && results.handle() == handle);
}

void many_of_any_range() {
    const shop shop(9);
    const rheo::lease_list leases = shop.billing.fetch();
    std::vector<rheo::lease> owned;
    owned.push_back(leases[0].clone());
    owned.push_back(leases[1].clone());
    CHECK(shop.db.ack_many(owned).size() == 2);
    CHECK(shop.db.ack_many({owned[0], leases[2]}).failed() == 1);
    const std::array<rheo::lease_view, 2> views{leases[3], leases[4]};
    CHECK(shop.billing.reject_many(views, "why").failed() == 0);
    CHECK(shop.billing.retry_many({leases[5]}).failed() == 0);
    CHECK(shop.billing.release_many({leases[6]}).failed() == 0);
    CHECK(shop.billing.renew_many({leases[7], leases[8]}).failed() == 0);
    CHECK(shop.db.ack_many({leases[7], leases[7]}).status(1) == rheo::status::stale_lease);

    // None: no matter of what kind.
    CHECK(shop.db.ack_many({}).size() == 0);
    CHECK(shop.db.ack_many(rheo::lease_list()).size() == 0);
    CHECK(shop.db.ack_many(std::vector<rheo::lease>()).size() == 0);
}

// The tokens of leases, as they would arrive from elsewhere.
std::vector<std::string> tokens_of(const rheo::lease_list &leases) {
    std::vector<std::string> tokens;
    for (const rheo::lease_view lease : leases) {
        tokens.emplace_back(lease.token());
    }
    return tokens;
}

// All that can be done with many tokens, through an instance or a group.
template <class Through>
void settles_many_tokens(const Through &through, const shop &shop) {
    std::vector<std::string> tokens = tokens_of(shop.billing.fetch());
    CHECK(tokens.size() == 3);
    tokens.insert(tokens.begin() + 1, "malformed");
    const rheo::results renewed = through.renew_many(tokens, milliseconds(7));
    CHECK(renewed.size() == 4 && renewed.failed() == 1);
    CHECK(renewed.status(1) == rheo::status::invalid_argument);
    CHECK(renewed.expires_at(3) == shop.db.now() + milliseconds(7));
    CHECK(through.renew_many(tokens).expires_at(0) == shop.db.now() + milliseconds(30'000));

    CHECK(through.release_many(tokens).failed() == 1);
    CHECK(shop.billing.info().available_count == 3);

    tokens = tokens_of(shop.billing.fetch());
    through.retry_many(tokens, "again", milliseconds(5)).check();
    CHECK(shop.billing.info().delayed_count == 3);
    shop.db.advance_clock(milliseconds(5));

    tokens = tokens_of(shop.billing.fetch());
    through.reject_many(tokens, "enough").check();
    CHECK(shop.billing.dead_letters()[2].reason == "enough");
    CHECK(shop.billing.replay(rheo::replay_options().from_sequence(0)) == 3);

    tokens = tokens_of(shop.billing.fetch());
    const std::string_view view = tokens[1];
    through.ack_many({tokens[0].c_str(), view}).check();
    CHECK(shop.billing.info().inflight_count == 1);
    rheo::results results;
    through.ack_many_into(std::vector<std::string_view>{view, tokens[2]}, results);
    CHECK(results.size() == 2 && results.status(0) == rheo::status::stale_lease && results.failed() == 1);
    CHECK(shop.billing.lag().total == 0);
    CHECK(through.ack_many(std::vector<std::string>()).size() == 0);
}

void many_by_their_tokens() {
    const shop through_the_instance(3);
    settles_many_tokens(through_the_instance.db, through_the_instance);
    const shop through_the_group(3);
    settles_many_tokens(through_the_group.billing, through_the_group);
}

void a_group_settles_its_own_leases_only() {
    const shop shop(2);
    shop.db.create_group("orders", "shipping");
    const rheo::group shipping = shop.db.group("orders", "shipping");
    const rheo::lease_list leases = shop.billing.fetch();
    const rheo::lease_view lease = leases[0];
    const std::string token(lease.token());
    CHECK_THROWS(stale_lease, shipping.ack(lease));
    CHECK_THROWS(stale_lease, shipping.ack(token));
    CHECK_THROWS(stale_lease, shipping.retry(lease));
    CHECK_THROWS(stale_lease, shipping.retry(token));
    CHECK_THROWS(stale_lease, shipping.reject(lease));
    CHECK_THROWS(stale_lease, shipping.reject(token));
    CHECK_THROWS(stale_lease, shipping.release(lease));
    CHECK_THROWS(stale_lease, shipping.release(token));
    CHECK_THROWS(stale_lease, shipping.renew(lease));
    CHECK_THROWS(stale_lease, shipping.renew(token));

    // The same in each form of many: a list, leases, tokens.
    const auto all_are_stale = [](const rheo::results &results) {
        return results.failed() == 2 && results.status(0) == rheo::status::stale_lease &&
               results.status(1) == rheo::status::stale_lease;
    };
    const rheo::lease_set by_list = leases;
    const rheo::lease_set by_lease = {leases[0], leases[1]};
    const rheo::lease_set by_token = {leases[0].token(), leases[1].token()};
    for (const rheo::lease_set *set : {&by_list, &by_lease, &by_token}) {
        CHECK(all_are_stale(shipping.ack_many(*set)));
        CHECK(all_are_stale(shipping.retry_many(*set)));
        CHECK(all_are_stale(shipping.reject_many(*set)));
        CHECK(all_are_stale(shipping.release_many(*set)));
        CHECK(all_are_stale(shipping.renew_many(*set)));
    }

    // Nothing happened to either group, and one's own among others still settles.
    CHECK(shop.billing.info().inflight_count == 2 && shipping.lag().total == 2);
    const rheo::lease_list own = shipping.fetch(rheo::fetch_options().limit(1));
    const rheo::results mixed = shipping.ack_many({lease, own[0]});
    CHECK(mixed.status(0) == rheo::status::stale_lease && mixed.status(1) == rheo::status::ok);
    CHECK(shop.billing.info().inflight_count == 2 && shipping.lag().total == 1);
    shop.billing.ack(lease);
    shop.db.ack(leases[1]);
    CHECK(shop.billing.lag().total == 0);
}

} // namespace

int main() {
    a_lease_says_what_it_is();
    one_lease_or_its_token();
    a_kept_lease_settles_after_its_list_is_gone();
    many_of_a_list();
    many_of_any_range();
    many_by_their_tokens();
    a_group_settles_its_own_leases_only();
}
