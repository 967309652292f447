// Rheo for C++17: everything in rheo.h, with handles that free themselves, texts as std::string_view and errors as
// exceptions. Header-only; link librheo.
//
//     rheo::instance db = rheo::open("memory:");
//     db.create_stream("orders", rheo::stream_options().partition_count(4));
//     db.create_group("orders", "billing");
//     db.append("orders", rheo::json(R"({"total":12.5})"), rheo::append_options().key("customer-7"));
//     for (rheo::lease_view lease : db.fetch("orders", "billing")) {
//         db.ack(lease);
//     }
//
// Or with a function that is called for each event, on threads of the consumer's own, until the consumer is destroyed:
//
//     rheo::consumer billing = db.consumer("orders", "billing", [](rheo::lease_view lease) { bill(lease.payload()); });
//
// What holds everywhere:
//
// - Whatever fails throws rheo::error. What a function may throw is what its comment in rheo.h lists as statuses.
//   Where there may be nothing, that is no error: an empty list or an empty std::optional.
// - Handles are move-only and may be destroyed in any order. One that was moved from is empty: its operations throw
//   invalid_argument, what only reads it gives nothing, and as options it says nothing.
// - A std::string_view, an event_view or a lease_view that a handle gives borrows from that handle: it is good until
//   the handle is destroyed or refilled. clone() gives an event or a lease that stands by itself.
// - Instances, streams, groups, producers, consumers and interrupts may be used by any number of threads at once; that
//   is what const means on their operations. Everything else is for one thread at a time, or for several that only read it.
// - Options that are not set are the contract's defaults, and options with nothing set cost nothing. Times are
//   microseconds, durations milliseconds, as std::chrono has them.
// - Loops need not allocate: bind names once (instance::stream, instance::group), keep options, lists and results, and
//   refill them (the operations that end in _into).
// - handle() gives what the functions of rheo.h take, where both are used together.

#ifndef RHEO_HPP
#define RHEO_HPP

#include "rheo.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// Event streams with competing groups of consumers.
namespace rheo {

class event;
class instance;
class lease;

// ---------------------------------------------------------------------------------------------------- enumerations

/// What a call came to: ok, or the contract's name of an error. The numbers are those of rheo.h.
enum class status : rheo_status {
    ok = RHEO_OK,                                                 ///< It was done.
    stream_not_found = RHEO_ERROR_STREAM_NOT_FOUND,               ///< The stream does not exist.
    group_not_found = RHEO_ERROR_GROUP_NOT_FOUND,                 ///< The stream exists, the group does not.
    already_exists = RHEO_ERROR_ALREADY_EXISTS,                   ///< Something of that name exists.
    cursor_not_found = RHEO_ERROR_CURSOR_NOT_FOUND,               ///< What a page goes on after is not there.
    stale_lease = RHEO_ERROR_STALE_LEASE,                         ///< The lease counts no longer.
    receipt_mismatch = RHEO_ERROR_RECEIPT_MISMATCH,               ///< The store's own receipt differs.
    invalid_argument = RHEO_ERROR_INVALID_ARGUMENT,               ///< An argument's form is not allowed.
    invalid_partition = RHEO_ERROR_INVALID_PARTITION,             ///< The stream has no such partition.
    invalid_partition_count = RHEO_ERROR_INVALID_PARTITION_COUNT, ///< A stream has 1 to 65,536 partitions.
    invalid_replay_opts = RHEO_ERROR_INVALID_REPLAY_OPTS,         ///< A replay takes exactly one way.
    confirm_required = RHEO_ERROR_CONFIRM_REQUIRED,               ///< It destroys something; confirm it.
    payload_too_large = RHEO_ERROR_PAYLOAD_TOO_LARGE,             ///< Larger than max_payload_bytes.
    unsupported = RHEO_ERROR_UNSUPPORTED,                         ///< This build or backend cannot do it.
    backend_unavailable = RHEO_ERROR_BACKEND_UNAVAILABLE,         ///< The store cannot be reached.
    failed = RHEO_ERROR_FAILED,                                   ///< Definitely not done; see the cause.
    ambiguous = RHEO_ERROR_AMBIGUOUS,                             ///< Done or not is not known; see the cause.
    timeout = RHEO_ERROR_TIMEOUT,                                 ///< The store did not answer in time.
    already_draining = RHEO_ERROR_ALREADY_DRAINING,               ///< A drain is pending already.
    closed = RHEO_ERROR_CLOSED,                                   ///< The instance was closed.
    forked = RHEO_ERROR_FORKED,                                   ///< Opened before this process was forked off.
    poisoned = RHEO_ERROR_POISONED,                               ///< An earlier sync failed; reopen.
    locked = RHEO_ERROR_LOCKED,                                   ///< Another process holds the journal.
    corrupt = RHEO_ERROR_CORRUPT,                                 ///< Stored data fails its check.
    version_mismatch = RHEO_ERROR_VERSION_MISMATCH,               ///< Stored by a newer format.
    internal = RHEO_ERROR_INTERNAL,                               ///< A bug of ours.
};

/// What the holder of a lease may conclude from a settle that failed.
enum class settle_class : rheo_settle_class {
    none = RHEO_SETTLE_NONE,         ///< The error says nothing of a lease.
    lost = RHEO_SETTLE_LOST,         ///< The lease is gone: drop it.
    definite = RHEO_SETTLE_DEFINITE, ///< Nothing was done: the settle may be tried again.
    unknown = RHEO_SETTLE_UNKNOWN,   ///< Leave the lease to expire; fencing protects a settle that did happen.
};

/// Whether calling again can help.
enum class retriable : rheo_retriable {
    no = RHEO_RETRIABLE_NO,                     ///< It would fail again.
    yes = RHEO_RETRIABLE_YES,                   ///< The call may be repeated as it is.
    with_same_id = RHEO_RETRIABLE_WITH_SAME_ID, ///< An append with an explicit id may be repeated with that id.
};

/// How a payload is tagged. Rheo never alters a payload.
enum class encoding : rheo_encoding {
    bytes = RHEO_ENCODING_BYTES, ///< Bytes of any kind.
    json = RHEO_ENCODING_JSON,   ///< JSON text, whose fields queries see. Not checked.
};

/// Whether a group keeps the order of events that share a key.
enum class ordering : rheo_ordering {
    none = RHEO_ORDERING_NONE, ///< Events of one key may be in flight together.
    key = RHEO_ORDERING_KEY,   ///< While an event of a key is open, no later one of that key is offered.
};

/// How an instance tells the time.
enum class clock : rheo_clock {
    system = RHEO_CLOCK_SYSTEM, ///< By the machine's clock, or the store's.
    manual = RHEO_CLOCK_MANUAL, ///< By one that only instance::advance_clock moves: for tests.
};

/// When a journal syncs what is written; see open_options::sync.
enum class sync_policy : rheo_sync {
    always = RHEO_SYNC_ALWAYS, ///< Before an append or a change by hand is answered; settles within 50 ms.
    never = RHEO_SYNC_NEVER,   ///< When the system sees fit, and when the instance is closed.
};

/// What becomes of a delivery whose handler failed.
enum class on_failure : rheo_on_failure {
    retry = RHEO_ON_FAILURE_RETRY,   ///< Another attempt after the retry delay, unless there have been max_attempts.
    reject = RHEO_ON_FAILURE_REJECT, ///< A dead letter at once.
};

/// What a query orders by.
enum class order_field : rheo_order_field {
    sequence = RHEO_ORDER_FIELD_SEQUENCE,   ///< The position in the partition.
    timestamp = RHEO_ORDER_FIELD_TIMESTAMP, ///< The event's time.
};

/// Which way a query orders.
enum class direction : rheo_direction {
    asc = RHEO_DIRECTION_ASC,   ///< Lowest first.
    desc = RHEO_DIRECTION_DESC, ///< Highest first.
};

/// What a telemetry_event tells of; docs/telemetry.md says what each counts. A newer library may tell of more.
enum class telemetry_name : rheo_telemetry_name {
    append = RHEO_TELEMETRY_APPEND,                 ///< A span: one append.
    append_batch = RHEO_TELEMETRY_APPEND_BATCH,     ///< A span: one batch.
    query = RHEO_TELEMETRY_QUERY,                   ///< A span: a query or a page of one.
    fetch = RHEO_TELEMETRY_FETCH,                   ///< A span: a fetch, waiting included.
    renew = RHEO_TELEMETRY_RENEW,                   ///< A span: renewing leases of one group.
    ack = RHEO_TELEMETRY_ACK,                       ///< A span: acking leases of one group.
    retry = RHEO_TELEMETRY_RETRY,                   ///< A span: retrying leases of one group.
    reject = RHEO_TELEMETRY_REJECT,                 ///< A span: rejecting leases of one group.
    release = RHEO_TELEMETRY_RELEASE,               ///< A span: releasing leases of one group.
    stream_create = RHEO_TELEMETRY_STREAM_CREATE,   ///< A stream was created.
    group_create = RHEO_TELEMETRY_GROUP_CREATE,     ///< A group was created.
    lease = RHEO_TELEMETRY_LEASE,                   ///< Leases that a fetch gave.
    redelivery = RHEO_TELEMETRY_REDELIVERY,         ///< Those of them that were not the first of their event.
    dead_letter = RHEO_TELEMETRY_DEAD_LETTER,       ///< Deliveries that became dead letters.
    group_frontier = RHEO_TELEMETRY_GROUP_FRONTIER, ///< A partition's frontier.
    group_replay = RHEO_TELEMETRY_GROUP_REPLAY,     ///< Deliveries that a replay made available again.
    group_reset = RHEO_TELEMETRY_GROUP_RESET,       ///< A group was reset.
    consumer_start = RHEO_TELEMETRY_CONSUMER_START, ///< A consumer was started.
    consumer_stop = RHEO_TELEMETRY_CONSUMER_STOP,   ///< A consumer ended: it was closed, or the error ended it.
    producer_start = RHEO_TELEMETRY_PRODUCER_START, ///< A producer was started.
    producer_stop = RHEO_TELEMETRY_PRODUCER_STOP,   ///< A producer ended: it was closed, or the error ended it.
    fetch_error = RHEO_TELEMETRY_FETCH_ERROR,       ///< A fetch of a consumer or producer failed.
    settle_error = RHEO_TELEMETRY_SETTLE_ERROR,     ///< A settle of a consumer failed.
    handler_error = RHEO_TELEMETRY_HANDLER_ERROR,   ///< A handler failed.
    worker_crash = RHEO_TELEMETRY_WORKER_CRASH,     ///< A handler of a Rust program panicked.
};

/// The contract's name of a status, such as "stale_lease"; empty for a number that is none.
inline std::string_view status_name(status status) noexcept {
    const char *name = rheo_status_name(static_cast<rheo_status>(status));
    return name == nullptr ? std::string_view() : std::string_view(name);
}

// ----------------------------------------------------------------------------------------------------------- error

namespace detail {

/// A view into a handle, as C++ has it.
inline std::string_view text(rheo_bytes bytes) noexcept {
    return {reinterpret_cast<const char *>(bytes.data), bytes.len};
}

/// The same where there may be nothing.
inline std::optional<std::string_view> optional_text(rheo_bytes bytes) noexcept {
    return bytes.data == nullptr ? std::nullopt : std::optional(text(bytes));
}

/// A text as rheo.h has it.
inline rheo_bytes to_bytes(std::string_view text) noexcept {
    return {reinterpret_cast<const std::uint8_t *>(text.data()), text.size()};
}

/// An owned handle of rheo.h.
template <class Handle, void (*Free)(Handle *)>
struct freer {
    void operator()(Handle *handle) const noexcept { Free(handle); } ///< As std::unique_ptr calls it.
};
/// The pointer to one.
template <class Handle, void (*Free)(Handle *)>
using owned = std::unique_ptr<Handle, freer<Handle, Free>>;

} // namespace detail

/// A call that failed. Copies share what they refer to and never throw.
class error : public std::runtime_error {
public:
    /// Takes over an error that a function of rheo.h wrote out; it may be NULL, where only the status is known.
    error(rheo::status code, rheo_error *owned)
        : error(code, std::shared_ptr<const rheo_error>(owned, rheo_error_free)) {}

    /// The contract's number. Decide by this, not by the text.
    rheo::status code() const noexcept { return code_; }
    /// The contract's name, such as "stale_lease".
    std::string_view name() const noexcept { return status_name(code_); }
    /// What failed, with which value, and what to do: a sentence for people. what() is name, message and cause.
    std::string_view message() const noexcept { return detail::text(rheo_error_message(handle_.get())); }
    /// The text of the failure behind this one, a store's or the system's.
    std::optional<std::string_view> cause() const noexcept {
        return detail::optional_text(rheo_error_cause(handle_.get()));
    }
    /// What the holder of a lease may conclude when a settle failed with this.
    rheo::settle_class settle_class() const noexcept {
        return static_cast<rheo::settle_class>(rheo_status_settle_class(static_cast<rheo_status>(code_)));
    }
    /// Whether calling again can help.
    rheo::retriable retriable() const noexcept {
        return static_cast<rheo::retriable>(rheo_status_retriable(static_cast<rheo_status>(code_)));
    }

private:
    error(rheo::status code, std::shared_ptr<const rheo_error> handle)
        : std::runtime_error(describe(code, handle.get())), code_(code), handle_(std::move(handle)) {}

    static std::string describe(rheo::status code, const rheo_error *handle) {
        std::string text(status_name(code));
        if (const auto message = detail::optional_text(rheo_error_message(handle))) {
            text.append(": ").append(*message);
        }
        if (const auto cause = detail::optional_text(rheo_error_cause(handle))) {
            text.append(" (").append(*cause).append(")");
        }
        return text;
    }

    rheo::status code_;
    std::shared_ptr<const rheo_error> handle_;
};

namespace detail {

/// Calls a function of rheo.h with these arguments and a place for its error; throws what it writes there.
template <class Function, class... Arguments>
void call(Function function, Arguments... arguments) {
    rheo_error *failure = nullptr;
    if (const rheo_status code = function(arguments..., &failure); code != RHEO_OK) {
        throw error(static_cast<status>(code), failure);
    }
}

/// The same for a function that makes a handle; NULL where there is nothing.
template <class Handle, class Function, class... Arguments>
Handle *make(Function function, Arguments... arguments) {
    Handle *made = nullptr;
    call(function, arguments..., &made);
    return made;
}

/// The same for what may not be there: an Owner of the handle, or nothing.
template <class Owner, class Handle, class Function, class... Arguments>
std::optional<Owner> find(Function function, Arguments... arguments) {
    Handle *found = make<Handle>(function, arguments...);
    return found == nullptr ? std::nullopt : std::optional<Owner>(found);
}

/// The same for a function that fills a list.
template <class List, class Function, class... Arguments>
List fill(Function function, Arguments... arguments) {
    List list;
    call(function, arguments..., list.to_fill());
    return list;
}

/// The same for a function that says how many.
template <class Function, class... Arguments>
std::uint64_t get_count(Function function, Arguments... arguments) {
    std::uint64_t count = 0;
    call(function, arguments..., &count);
    return count;
}

} // namespace detail

// --------------------------------------------------------------------------------------------- values passed to calls

/// Times: UTC, in microseconds since the Unix epoch.
using time_point = std::chrono::time_point<std::chrono::system_clock, std::chrono::microseconds>;

/// The time that is so many microseconds after the Unix epoch.
constexpr time_point from_micros(std::int64_t micros) noexcept {
    return time_point(std::chrono::microseconds(micros));
}

/// Microseconds since the Unix epoch; what is finer is cut off.
template <class Duration>
constexpr std::int64_t to_micros(std::chrono::time_point<std::chrono::system_clock, Duration> time) noexcept {
    return std::chrono::floor<std::chrono::microseconds>(time).time_since_epoch().count();
}

namespace detail {

/// A time as a parameter: any time point of the system's clock.
struct moment {
    /// From a time point; what is finer than a microsecond is cut off.
    template <class Duration>
    constexpr moment(std::chrono::time_point<std::chrono::system_clock, Duration> time) noexcept
        : micros(to_micros(time)) {}
    /// Microseconds since the Unix epoch.
    std::int64_t micros;
};

} // namespace detail

/// Partitions as a parameter: `{0, 2}`, a std::vector, or all of them. A set: duplicates merge, and an empty one means
/// none. Borrows what it is made from.
class partition_set {
public:
    /// All partitions.
    static constexpr partition_set all() noexcept { return partition_set(nullptr, 0); }
    /// These.
    constexpr partition_set(std::initializer_list<std::uint32_t> partitions) noexcept
        : partition_set(partitions.size() == 0 ? &none : partitions.begin(), partitions.size()) {}
    /// These.
    partition_set(const std::vector<std::uint32_t> &partitions) noexcept
        : partition_set(partitions.empty() ? &none : partitions.data(), partitions.size()) {}

    /// For the functions of rheo.h: NULL means all.
    constexpr const std::uint32_t *data() const noexcept { return data_; }
    /// How many were given.
    constexpr std::size_t size() const noexcept { return size_; }

private:
    // An empty set has an address, which tells it from all.
    static constexpr std::uint32_t none = 0;

    constexpr partition_set(const std::uint32_t *data, std::size_t size) noexcept : data_(data), size_(size) {}

    const std::uint32_t *data_;
    std::size_t size_;
};

/// A payload as a parameter; made by json and bytes. Borrows.
struct payload {
    const void *data;        ///< The first byte.
    std::size_t size;        ///< How many bytes.
    rheo::encoding encoding; ///< How they are tagged.
};

/// A payload that is JSON text.
inline payload json(std::string_view text) noexcept {
    return {text.data(), text.size(), encoding::json};
}

/// A payload of bytes.
inline payload bytes(std::string_view data) noexcept {
    return {data.data(), data.size(), encoding::bytes};
}

/// A payload of bytes.
inline payload bytes(const void *data, std::size_t size) noexcept {
    return {data, size, encoding::bytes};
}

/// One thing that an instance tells its hook (open_options::telemetry). A view: it lives until the hook returns.
class telemetry_event {
public:
    /// Looks at what a hook of rheo.h is given.
    explicit telemetry_event(const rheo_telemetry_event *event) noexcept : event_(event) {}

    /// What happened.
    telemetry_name name() const noexcept { return static_cast<telemetry_name>(rheo_telemetry_event_name(event_)); }
    /// The contract's text of it, such as "append" or "stream.create".
    std::string_view name_text() const noexcept { return rheo_telemetry_name_text(rheo_telemetry_event_name(event_)); }
    /// The stream's name.
    std::string_view stream() const noexcept { return detail::text(rheo_telemetry_event_stream(event_)); }
    /// The group's name, where it is about a group.
    std::optional<std::string_view> group() const noexcept {
        return detail::optional_text(rheo_telemetry_event_group(event_));
    }
    /// The partition, where it is about one.
    std::optional<std::uint32_t> partition() const noexcept {
        std::uint32_t partition = 0;
        return rheo_telemetry_event_partition(event_, &partition) ? std::optional(partition) : std::nullopt;
    }
    /// The measurement that the name says.
    std::uint64_t count() const noexcept { return rheo_telemetry_event_count(event_); }
    /// How many leases of a settle or renewal failed.
    std::uint64_t failed() const noexcept { return rheo_telemetry_event_failed(event_); }
    /// How long a span took, where it was timed.
    std::optional<std::chrono::nanoseconds> duration() const noexcept {
        std::uint64_t nanos = 0;
        return rheo_telemetry_event_duration(event_, &nanos) ? std::optional(std::chrono::nanoseconds(nanos))
                                                             : std::nullopt;
    }
    /// Why a span's call, or its first lease that failed, did; status::ok when all went well.
    status error() const noexcept { return static_cast<status>(rheo_telemetry_event_error(event_)); }

private:
    const rheo_telemetry_event *event_;
};

/// What hears of an instance's work. Called by every thread that uses the instance, several at once.
using telemetry_hook = std::function<void(const telemetry_event &)>;

/// Where an appended event lies: `sequence`, `partition`, and whether it was `deduplicated`.
using position = rheo_position;

// --------------------------------------------------------------------------------------------------------- options

namespace detail {

/// What all options have in common. Each setter comes twice: on options that have a name it gives a reference to them,
/// on a temporary the options themselves, so that these two do what they say:
///
///     options.limit(5).wait_ms(1s);
///     auto options = rheo::fetch_options().limit(5).wait_ms(1s);
template <class Self, class Handle, auto New, auto Set, void (*Free)(Handle *)>
class builder {
public:
    /// Sets an option by its name, with its value as text, for instance from a file: numbers in decimal, lists and maps
    /// as JSON. Throws invalid_argument for another name and for a value that does not parse.
    Self &set(std::string_view key, std::string_view value) & {
        return with(Set, key.data(), key.size(), value.data(), value.size());
    }
    Self set(std::string_view key, std::string_view value) && { return std::move(set(key, value)); }

    /// What the functions of rheo.h take: NULL while nothing is set.
    const Handle *handle() const noexcept { return handle_.get(); }

protected:
    /// Makes the handle if there is none, and calls a setter with it.
    template <class Function, class... Arguments>
    Self &with(Function function, Arguments... arguments) {
        if (handle_ == nullptr) {
            handle_.reset(make<Handle>(New));
        }
        call(function, handle_.get(), arguments...);
        return static_cast<Self &>(*this);
    }

    /// The handle, if there is one.
    Handle *made() const noexcept { return handle_.get(); }

private:
    owned<Handle, Free> handle_;
};

} // namespace detail

/// How to open an instance.
class open_options
    : public detail::builder<open_options, rheo_options, rheo_options_new, rheo_options_set, rheo_options_free> {
public:
    /// The name by which rheo::get finds the instance, from any thread.
    open_options &name(std::string_view name) & { return with(rheo_options_set_name, name.data(), name.size()); }
    open_options name(std::string_view text) && { return std::move(name(text)); }

    /// The `limit` of a fetch that sets none; 10 when not set.
    open_options &default_max_demand(std::int64_t limit) & { return with(rheo_options_set_default_max_demand, limit); }
    open_options default_max_demand(std::int64_t limit) && { return std::move(default_max_demand(limit)); }

    /// The `lease_ms` of a fetch that sets none; 30 s when not set.
    open_options &default_lease_ms(std::chrono::milliseconds lease_ms) & {
        return with(rheo_options_set_default_lease_ms, lease_ms.count());
    }
    open_options default_lease_ms(std::chrono::milliseconds lease_ms) && {
        return std::move(default_lease_ms(lease_ms));
    }

    /// The `max_attempts` of a group that sets none; 5 when not set.
    open_options &default_max_attempts(std::int64_t max_attempts) & {
        return with(rheo_options_set_default_max_attempts, max_attempts);
    }
    open_options default_max_attempts(std::int64_t max_attempts) && {
        return std::move(default_max_attempts(max_attempts));
    }

    /// The largest payload; 16 MiB when not set, and at most.
    open_options &max_payload_bytes(std::int64_t max_payload_bytes) & {
        return with(rheo_options_set_max_payload_bytes, max_payload_bytes);
    }
    open_options max_payload_bytes(std::int64_t max_bytes) && { return std::move(max_payload_bytes(max_bytes)); }

    /// The clock; the system's when not set.
    open_options &clock(rheo::clock clock) & { return with(rheo_options_set_clock, static_cast<rheo_clock>(clock)); }
    open_options clock(rheo::clock kind) && { return std::move(clock(kind)); }

    /// Where a manual clock starts; sets a manual clock.
    open_options &clock_start(detail::moment start) & { return with(rheo_options_set_clock_start, start.micros); }
    open_options clock_start(detail::moment start) && { return std::move(clock_start(start)); }

    /// When a journal syncs what is written; always when not set. Every answer survives the end of the process.
    open_options &sync(sync_policy policy) & {
        return with(rheo_options_set_sync, static_cast<rheo_sync>(policy), std::int64_t{0});
    }
    open_options sync(sync_policy policy) && { return std::move(sync(policy)); }

    /// Syncs what is written every so often: the end of the machine may cost what was answered since.
    open_options &sync_every(std::chrono::milliseconds interval) & {
        return with(rheo_options_set_sync, RHEO_SYNC_INTERVAL, std::int64_t{interval.count()});
    }
    open_options sync_every(std::chrono::milliseconds interval) && { return std::move(sync_every(interval)); }

    /// Whether a journal answers a settle only when it is synced; false when not set.
    open_options &sync_settles(bool sync_settles = true) & { return with(rheo_options_set_sync_settles, sync_settles); }
    open_options sync_settles(bool whether = true) && { return std::move(sync_settles(whether)); }

    /// How large a journal's file gets before the next begins, in bytes; 64 MiB when not set.
    open_options &segment_bytes(std::int64_t bytes) & { return with(rheo_options_set_segment_bytes, bytes); }
    open_options segment_bytes(std::int64_t count) && { return std::move(segment_bytes(count)); }

    /// The hook that the instances opened with these options tell of their work; it is destroyed when the last of them
    /// is. It runs after each operation, on its thread, with no lock held, and may call back in; what it throws ends
    /// there. Empty: none. A hook that only counts does without durations, which cost two readings of a clock a span.
    open_options &telemetry(telemetry_hook hook, bool durations = true) & {
        if (!hook) {
            return with(rheo_options_set_telemetry, nullptr, nullptr, nullptr, durations);
        }
        auto context = std::make_unique<telemetry_hook>(std::move(hook));
        with(rheo_options_set_telemetry, &open_options::tell, static_cast<void *>(context.get()), &open_options::forget,
             durations);
        static_cast<void>(context.release());
        return *this;
    }
    open_options telemetry(telemetry_hook hook, bool durations = true) && {
        return std::move(telemetry(std::move(hook), durations));
    }

private:
    static void tell(const rheo_telemetry_event *event, void *context) noexcept {
        try {
            (*static_cast<const telemetry_hook *>(context))(telemetry_event(event));
        } catch (...) { // the operation is done, and has its own answer
        }
    }

    static void forget(void *context) noexcept { delete static_cast<telemetry_hook *>(context); }
};

/// How to create a stream.
class stream_options : public detail::builder<stream_options, rheo_stream_options, rheo_stream_options_new,
                                              rheo_stream_options_set, rheo_stream_options_free> {
public:
    /// How many partitions, 1 to 65,536; 1 when not set.
    stream_options &partition_count(std::int64_t count) & {
        return with(rheo_stream_options_set_partition_count, count);
    }
    stream_options partition_count(std::int64_t count) && { return std::move(partition_count(count)); }
};

/// How to create a group.
class group_options : public detail::builder<group_options, rheo_group_options, rheo_group_options_new,
                                             rheo_group_options_set, rheo_group_options_free> {
public:
    /// From this attempt on, a retry dead-letters; the instance's default when not set.
    group_options &max_attempts(std::int64_t max_attempts) & {
        return with(rheo_group_options_set_max_attempts, max_attempts);
    }
    group_options max_attempts(std::int64_t count) && { return std::move(max_attempts(count)); }

    /// What was leased so often is dead-lettered instead of being offered again; 0, no limit, when not set.
    group_options &max_deliveries(std::int64_t max_deliveries) & {
        return with(rheo_group_options_set_max_deliveries, max_deliveries);
    }
    group_options max_deliveries(std::int64_t count) && { return std::move(max_deliveries(count)); }

    /// Whether events of one key come one after the other; none when not set.
    group_options &ordering(rheo::ordering ordering) & {
        return with(rheo_group_options_set_ordering, static_cast<rheo_ordering>(ordering));
    }
    group_options ordering(rheo::ordering kind) && { return std::move(ordering(kind)); }

    /// Start after this sequence, in every partition.
    group_options &start_after(std::uint64_t sequence) & { return with(rheo_group_options_set_start_after, sequence); }
    group_options start_after(std::uint64_t sequence) && { return std::move(start_after(sequence)); }

    /// Start after this sequence in one partition; again for each further one. The others start at the beginning.
    group_options &start_after_in(std::uint32_t partition, std::uint64_t sequence) & {
        return with(rheo_group_options_set_start_after_in, partition, sequence);
    }
    group_options start_after_in(std::uint32_t partition, std::uint64_t sequence) && {
        return std::move(start_after_in(partition, sequence));
    }

    /// Start, per partition, at the first event whose timestamp is not earlier.
    group_options &start_at(detail::moment time) & { return with(rheo_group_options_set_start_at, time.micros); }
    group_options start_at(detail::moment time) && { return std::move(start_at(time)); }

    /// The partitions that the start is meant for; the others start at the beginning.
    group_options &partitions(const partition_set &partitions) & {
        return with(rheo_group_options_set_partitions, partitions.data(), partitions.size());
    }
    group_options partitions(const partition_set &set) && { return std::move(partitions(set)); }
};

/// What to change of a group.
class update_options : public detail::builder<update_options, rheo_update_options, rheo_update_options_new,
                                              rheo_update_options_set, rheo_update_options_free> {
public:
    /// See group_options::max_attempts.
    update_options &max_attempts(std::int64_t max_attempts) & {
        return with(rheo_update_options_set_max_attempts, max_attempts);
    }
    update_options max_attempts(std::int64_t count) && { return std::move(max_attempts(count)); }

    /// See group_options::max_deliveries.
    update_options &max_deliveries(std::int64_t max_deliveries) & {
        return with(rheo_update_options_set_max_deliveries, max_deliveries);
    }
    update_options max_deliveries(std::int64_t count) && { return std::move(max_deliveries(count)); }
};

/// What goes with a payload.
class append_options : public detail::builder<append_options, rheo_append_options, rheo_append_options_new,
                                              rheo_append_options_set, rheo_append_options_free> {
public:
    /// The event's id; a new one is made when not set. An id that the stream holds appends nothing, so that an append
    /// with an id may safely be repeated.
    append_options &id(std::string_view id) & { return with(rheo_append_options_set_id, id.data(), id.size()); }
    append_options id(std::string_view text) && { return std::move(id(text)); }

    /// The key, by which the partition is chosen, and by which a group may keep order.
    append_options &key(std::string_view key) & { return with(rheo_append_options_set_key, key.data(), key.size()); }
    append_options key(std::string_view text) && { return std::move(key(text)); }

    /// The type.
    append_options &type(std::string_view type) & {
        return with(rheo_append_options_set_type, type.data(), type.size());
    }
    append_options type(std::string_view text) && { return std::move(type(text)); }

    /// The metadata: the text of a JSON object.
    append_options &metadata(std::string_view json) & {
        return with(rheo_append_options_set_metadata, json.data(), json.size());
    }
    append_options metadata(std::string_view json) && { return std::move(metadata(json)); }

    /// When it happened; now when not set.
    append_options &timestamp(detail::moment time) & { return with(rheo_append_options_set_timestamp, time.micros); }
    append_options timestamp(detail::moment time) && { return std::move(timestamp(time)); }

    /// The partition, whatever the key. Without partition and key: 0.
    append_options &partition(std::uint32_t partition) & { return with(rheo_append_options_set_partition, partition); }
    append_options partition(std::uint32_t number) && { return std::move(partition(number)); }

    /// Back to nothing set. Keeps the memory, so that a loop can set them anew for each event.
    append_options &clear() {
        if (made() != nullptr) {
            detail::call(rheo_append_options_clear, made());
        }
        return *this;
    }
};

/// Which events to look for.
class query : public detail::builder<query, rheo_query, rheo_query_new, rheo_query_set, rheo_query_free> {
public:
    /// The conditions: the text of a JSON object, such as `{"type": "placed", "total": {"gt": 10}}`.
    query &where(std::string_view json) & { return with(rheo_query_set_where, json.data(), json.size()); }
    query where(std::string_view json) && { return std::move(where(json)); }

    /// Only events of this time or later.
    query &from(detail::moment time) & { return with(rheo_query_set_from, time.micros); }
    query from(detail::moment time) && { return std::move(from(time)); }

    /// Only events of this time or earlier.
    query &to(detail::moment time) & { return with(rheo_query_set_to, time.micros); }
    query to(detail::moment time) && { return std::move(to(time)); }

    /// Only higher sequences, in every partition.
    query &after_sequence(std::uint64_t sequence) & { return with(rheo_query_set_after_sequence, sequence); }
    query after_sequence(std::uint64_t sequence) && { return std::move(after_sequence(sequence)); }

    /// Only this sequence and lower ones, in every partition.
    query &until_sequence(std::uint64_t sequence) & { return with(rheo_query_set_until_sequence, sequence); }
    query until_sequence(std::uint64_t sequence) && { return std::move(until_sequence(sequence)); }

    /// Orders by this, after what was given before; by ascending sequence when nothing is. Not for pages.
    query &order_by(order_field field, direction direction = direction::asc) & {
        return with(rheo_query_add_order_by, static_cast<rheo_order_field>(field),
                    static_cast<rheo_direction>(direction));
    }
    query order_by(order_field field, direction direction = direction::asc) && {
        return std::move(order_by(field, direction));
    }

    /// At most so many; so many at a time for pages and for query_stream. When not set: 100, in a replay all.
    query &limit(std::int64_t limit) & { return with(rheo_query_set_limit, limit); }
    query limit(std::int64_t count) && { return std::move(limit(count)); }
};

/// How far to trim: exactly one way, besides force.
class trim_options : public detail::builder<trim_options, rheo_trim_options, rheo_trim_options_new,
                                            rheo_trim_options_set, rheo_trim_options_free> {
public:
    /// Remove what lies before this sequence, in every partition.
    trim_options &before_sequence(std::uint64_t sequence) & {
        return with(rheo_trim_options_set_before_sequence, sequence);
    }
    trim_options before_sequence(std::uint64_t sequence) && { return std::move(before_sequence(sequence)); }

    /// Remove what lies before this sequence in one partition; again for each further one. Leaves the others alone.
    trim_options &before_sequence_in(std::uint32_t partition, std::uint64_t sequence) & {
        return with(rheo_trim_options_set_before_sequence_in, partition, sequence);
    }
    trim_options before_sequence_in(std::uint32_t partition, std::uint64_t sequence) && {
        return std::move(before_sequence_in(partition, sequence));
    }

    /// Keep at most so many events per partition.
    trim_options &max_len(std::int64_t max_len) & { return with(rheo_trim_options_set_max_len, max_len); }
    trim_options max_len(std::int64_t count) && { return std::move(max_len(count)); }

    /// Remove what is older, up to the first younger event.
    trim_options &max_age_ms(std::chrono::milliseconds max_age_ms) & {
        return with(rheo_trim_options_set_max_age_ms, max_age_ms.count());
    }
    trim_options max_age_ms(std::chrono::milliseconds age) && { return std::move(max_age_ms(age)); }

    /// Keep at most so many bytes per partition.
    trim_options &max_bytes(std::int64_t max_bytes) & { return with(rheo_trim_options_set_max_bytes, max_bytes); }
    trim_options max_bytes(std::int64_t count) && { return std::move(max_bytes(count)); }

    /// Remove also what a group has not passed or lists as a dead letter.
    trim_options &force(bool force = true) & { return with(rheo_trim_options_set_force, force); }
    trim_options force(bool force = true) && { return std::move(this->force(force)); }
};

/// Ends waits from another thread. A fetch that waits under an interrupt returns what it has, usually nothing, once the
/// interrupt is fired; a fired interrupt ends every later wait at once until it is reset. Any thread.
class interrupt {
public:
    /// One that is not fired.
    interrupt() : handle_(detail::make<rheo_interrupt>(rheo_interrupt_new)) {}

    /// Ends the waits.
    void fire() const { detail::call(rheo_interrupt_fire, handle()); }
    /// Lets waits wait again.
    void reset() const { detail::call(rheo_interrupt_reset, handle()); }
    /// Whether it was fired and not reset since.
    bool is_fired() const noexcept { return rheo_interrupt_is_fired(handle()); }
    /// For the functions of rheo.h.
    const rheo_interrupt *handle() const noexcept { return handle_.get(); }

private:
    detail::owned<rheo_interrupt, rheo_interrupt_free> handle_;
};

/// Whether to stop: a view of an interrupt, or of the signal that a handler is given. Reads like std::stop_token, and
/// ends waits. Good for as long as what it looks at: a handler's until the handler returns. As cheap as a pointer.
class cancel {
public:
    /// One that never asks to stop.
    cancel() noexcept = default;
    /// Looks at an interrupt. One that was moved from could end nothing: it says so as a call of it does.
    cancel(const interrupt &interrupt) : handle_(interrupt.handle()) {
        if (handle_ == nullptr) {
            interrupt.fire();
        }
    }
    /// Looks at an interrupt of rheo.h.
    explicit cancel(const rheo_interrupt *interrupt) noexcept : handle_(interrupt) {}

    /// Whether it is in vain to go on.
    bool stop_requested() const noexcept { return rheo_interrupt_is_fired(handle_); }
    /// Whether that may ever be.
    bool stop_possible() const noexcept { return handle_ != nullptr; }
    /// For the functions of rheo.h.
    const rheo_interrupt *handle() const noexcept { return handle_; }

private:
    const rheo_interrupt *handle_ = nullptr;
};

/// How to fetch.
class fetch_options : public detail::builder<fetch_options, rheo_fetch_options, rheo_fetch_options_new,
                                             rheo_fetch_options_set, rheo_fetch_options_free> {
public:
    /// At most so many leases, 0 to 10,000; the instance's default when not set.
    fetch_options &limit(std::int64_t limit) & { return with(rheo_fetch_options_set_limit, limit); }
    fetch_options limit(std::int64_t count) && { return std::move(limit(count)); }

    /// How long the leases last; the instance's default when not set.
    fetch_options &lease_ms(std::chrono::milliseconds lease_ms) & {
        return with(rheo_fetch_options_set_lease_ms, lease_ms.count());
    }
    fetch_options lease_ms(std::chrono::milliseconds duration) && { return std::move(lease_ms(duration)); }

    /// Who takes them; an id made for the instance when not set.
    fetch_options &consumer_id(std::string_view consumer_id) & {
        return with(rheo_fetch_options_set_consumer_id, consumer_id.data(), consumer_id.size());
    }
    fetch_options consumer_id(std::string_view text) && { return std::move(consumer_id(text)); }

    /// Only from these partitions.
    fetch_options &partitions(const partition_set &partitions) & {
        return with(rheo_fetch_options_set_partitions, partitions.data(), partitions.size());
    }
    fetch_options partitions(const partition_set &set) && { return std::move(partitions(set)); }

    /// How long to wait for work when there is none; not at all when not set.
    fetch_options &wait_ms(std::chrono::milliseconds wait_ms) & {
        return with(rheo_fetch_options_set_wait_ms, wait_ms.count());
    }
    fetch_options wait_ms(std::chrono::milliseconds duration) && { return std::move(wait_ms(duration)); }

    /// What ends the wait early: an interrupt, or a handler's cancel. Kept alive by these options.
    fetch_options &interrupt(cancel interrupt) & { return with(rheo_fetch_options_set_interrupt, interrupt.handle()); }
    fetch_options interrupt(cancel by) && { return std::move(interrupt(by)); }
};

namespace detail {

/// The functions that set a producer's options.
struct producer_setters {
    using handle = rheo_producer_options;
    static constexpr auto make = rheo_producer_options_new;
    static constexpr auto set = rheo_producer_options_set;
    static constexpr auto max_demand = rheo_producer_options_set_max_demand;
    static constexpr auto lease_ms = rheo_producer_options_set_lease_ms;
    static constexpr auto poll_ms = rheo_producer_options_set_poll_ms;
    static constexpr auto consumer_id = rheo_producer_options_set_consumer_id;
    static constexpr auto partitions = rheo_producer_options_set_partitions;
    static constexpr auto on_failure = rheo_producer_options_set_on_failure;
    static constexpr auto retry_delay = rheo_producer_options_set_retry_delay;
    static constexpr auto retry_delay_exponential = rheo_producer_options_set_retry_delay_exponential;
    static constexpr auto free = rheo_producer_options_free;
};

/// The functions that set a consumer's options.
struct consumer_setters {
    using handle = rheo_consumer_options;
    static constexpr auto make = rheo_consumer_options_new;
    static constexpr auto set = rheo_consumer_options_set;
    static constexpr auto max_demand = rheo_consumer_options_set_max_demand;
    static constexpr auto lease_ms = rheo_consumer_options_set_lease_ms;
    static constexpr auto poll_ms = rheo_consumer_options_set_poll_ms;
    static constexpr auto consumer_id = rheo_consumer_options_set_consumer_id;
    static constexpr auto partitions = rheo_consumer_options_set_partitions;
    static constexpr auto on_failure = rheo_consumer_options_set_on_failure;
    static constexpr auto retry_delay = rheo_consumer_options_set_retry_delay;
    static constexpr auto retry_delay_exponential = rheo_consumer_options_set_retry_delay_exponential;
    static constexpr auto free = rheo_consumer_options_free;
};

/// How leases are taken, by a producer or a consumer.
template <class Self, class Setters>
class taking_options : public builder<Self, typename Setters::handle, Setters::make, Setters::set, Setters::free> {
public:
    /// At most so many unsettled leases at once, 1 to 10,000; the instance's default_max_demand when not set, of a
    /// consumer at least what its handlers can hold.
    Self &max_demand(std::int64_t max_demand) & { return this->with(Setters::max_demand, max_demand); }
    Self max_demand(std::int64_t count) && { return std::move(max_demand(count)); }

    /// How long the leases last unless they are renewed; the instance's default when not set.
    Self &lease_ms(std::chrono::milliseconds lease_ms) & { return this->with(Setters::lease_ms, lease_ms.count()); }
    Self lease_ms(std::chrono::milliseconds duration) && { return std::move(lease_ms(duration)); }

    /// How often to look for work where the store does not notify; 200 ms when not set.
    Self &poll_ms(std::chrono::milliseconds poll_ms) & { return this->with(Setters::poll_ms, poll_ms.count()); }
    Self poll_ms(std::chrono::milliseconds duration) && { return std::move(poll_ms(duration)); }

    /// Who takes the leases; an id made for the instance when not set.
    Self &consumer_id(std::string_view consumer_id) & {
        return this->with(Setters::consumer_id, consumer_id.data(), consumer_id.size());
    }
    Self consumer_id(std::string_view text) && { return std::move(consumer_id(text)); }

    /// Only from these partitions.
    Self &partitions(const partition_set &partitions) & {
        return this->with(Setters::partitions, partitions.data(), partitions.size());
    }
    Self partitions(const partition_set &set) && { return std::move(partitions(set)); }

    /// What becomes of a delivery that failed; another attempt when not set.
    Self &on_failure(rheo::on_failure on_failure) & {
        return this->with(Setters::on_failure, static_cast<rheo_on_failure>(on_failure));
    }
    Self on_failure(rheo::on_failure what) && { return std::move(on_failure(what)); }

    /// How long a delivery waits for its next attempt where nobody says; 100 ms doubling to 5 s when not set.
    Self &retry_delay(std::chrono::milliseconds delay) & { return this->with(Setters::retry_delay, delay.count()); }
    Self retry_delay(std::chrono::milliseconds delay_ms) && { return std::move(retry_delay(delay_ms)); }

    /// The same, doubling after each attempt from the first delay to the longest.
    Self &retry_delay(std::chrono::milliseconds first, std::chrono::milliseconds most) & {
        return this->with(Setters::retry_delay_exponential, first.count(), most.count());
    }
    Self retry_delay(std::chrono::milliseconds first_ms, std::chrono::milliseconds most_ms) && {
        return std::move(retry_delay(first_ms, most_ms));
    }
};

} // namespace detail

/// How a producer takes leases.
class producer_options : public detail::taking_options<producer_options, detail::producer_setters> {};

/// How a consumer takes leases and runs its handler.
class consumer_options : public detail::taking_options<consumer_options, detail::consumer_setters> {
public:
    /// So many handlers at a time, each on a thread of its own, 1 to 10,000; 1 when not set.
    consumer_options &concurrency(std::int64_t concurrency) & {
        return with(rheo_consumer_options_set_concurrency, concurrency);
    }
    consumer_options concurrency(std::int64_t count) && { return std::move(concurrency(count)); }

    /// At most so many events at once, for handlers of rheo::work, 1 to 10,000; 1 when not set.
    consumer_options &batch_size(std::int64_t batch_size) & {
        return with(rheo_consumer_options_set_batch_size, batch_size);
    }
    consumer_options batch_size(std::int64_t count) && { return std::move(batch_size(count)); }

    /// How long to wait for a batch to fill once it has its first event; not at all when not set.
    consumer_options &batch_timeout_ms(std::chrono::milliseconds batch_timeout_ms) & {
        return with(rheo_consumer_options_set_batch_timeout_ms, batch_timeout_ms.count());
    }
    consumer_options batch_timeout_ms(std::chrono::milliseconds duration) && {
        return std::move(batch_timeout_ms(duration));
    }

    /// After how long the leases of a handler that does not return are no longer renewed and its cancel asks it to stop;
    /// never when not set, or 0.
    consumer_options &max_lease_ms(std::chrono::milliseconds max_lease_ms) & {
        return with(rheo_consumer_options_set_max_lease_ms, max_lease_ms.count());
    }
    consumer_options max_lease_ms(std::chrono::milliseconds duration) && { return std::move(max_lease_ms(duration)); }
};

/// How to list dead letters.
class dead_letter_options
    : public detail::builder<dead_letter_options, rheo_dead_letter_options, rheo_dead_letter_options_new,
                             rheo_dead_letter_options_set, rheo_dead_letter_options_free> {
public:
    /// At most so many; 100 when not set.
    dead_letter_options &limit(std::int64_t limit) & { return with(rheo_dead_letter_options_set_limit, limit); }
    dead_letter_options limit(std::int64_t count) && { return std::move(limit(count)); }

    /// Go on after the dead letter of this event.
    dead_letter_options &after(std::string_view event_id) & {
        return with(rheo_dead_letter_options_set_after, event_id.data(), event_id.size());
    }
    dead_letter_options after(std::string_view event_id) && { return std::move(after(event_id)); }

    /// Only in these partitions.
    dead_letter_options &partitions(const partition_set &partitions) & {
        return with(rheo_dead_letter_options_set_partitions, partitions.data(), partitions.size());
    }
    dead_letter_options partitions(const partition_set &set) && { return std::move(partitions(set)); }
};

/// What to replay: exactly one of a sequence, a time, event ids and a query.
class replay_options : public detail::builder<replay_options, rheo_replay_options, rheo_replay_options_new,
                                              rheo_replay_options_set, rheo_replay_options_free> {
public:
    /// Everything after this sequence, in every partition.
    replay_options &from_sequence(std::uint64_t sequence) & {
        return with(rheo_replay_options_set_from_sequence, sequence);
    }
    replay_options from_sequence(std::uint64_t sequence) && { return std::move(from_sequence(sequence)); }

    /// Everything after this sequence in one partition; again for each further one. Leaves the others alone.
    replay_options &from_sequence_in(std::uint32_t partition, std::uint64_t sequence) & {
        return with(rheo_replay_options_set_from_sequence_in, partition, sequence);
    }
    replay_options from_sequence_in(std::uint32_t partition, std::uint64_t sequence) && {
        return std::move(from_sequence_in(partition, sequence));
    }

    /// Per partition, everything from the first event on whose timestamp is not earlier.
    replay_options &from(detail::moment time) & { return with(rheo_replay_options_set_from, time.micros); }
    replay_options from(detail::moment time) && { return std::move(from(time)); }

    /// The event with this id too.
    replay_options &add_event_id(std::string_view event_id) & {
        return with(rheo_replay_options_add_event_id, event_id.data(), event_id.size());
    }
    replay_options add_event_id(std::string_view event_id) && { return std::move(add_event_id(event_id)); }

    /// The events that match; all of them, when the query sets no limit.
    replay_options &query(const rheo::query &query) & {
        // A query with nothing set has no handle, and matches everything: its text says the same.
        return query.handle() == nullptr ? set("query", "{}") : with(rheo_replay_options_set_query, query.handle());
    }
    replay_options query(const rheo::query &matching) && { return std::move(query(matching)); }

    /// Only in these partitions.
    replay_options &partitions(const partition_set &partitions) & {
        return with(rheo_replay_options_set_partitions, partitions.data(), partitions.size());
    }
    replay_options partitions(const partition_set &set) && { return std::move(partitions(set)); }
};

/// How to reset a group.
class reset_options : public detail::builder<reset_options, rheo_reset_options, rheo_reset_options_new,
                                             rheo_reset_options_set, rheo_reset_options_free> {
public:
    /// Yes, clear the group's deliveries and dead letters. Without it: confirm_required.
    reset_options &confirm(bool confirm = true) & { return with(rheo_reset_options_set_confirm, confirm); }
    reset_options confirm(bool confirm = true) && { return std::move(this->confirm(confirm)); }

    /// Start again after this sequence, in every partition; at the beginning when no start is set.
    reset_options &start_after(std::uint64_t sequence) & { return with(rheo_reset_options_set_start_after, sequence); }
    reset_options start_after(std::uint64_t sequence) && { return std::move(start_after(sequence)); }

    /// Start again after this sequence in one partition; again for each further one. Leaves the others alone.
    reset_options &start_after_in(std::uint32_t partition, std::uint64_t sequence) & {
        return with(rheo_reset_options_set_start_after_in, partition, sequence);
    }
    reset_options start_after_in(std::uint32_t partition, std::uint64_t sequence) && {
        return std::move(start_after_in(partition, sequence));
    }

    /// Start again, per partition, at the first event whose timestamp is not earlier.
    reset_options &start_at(detail::moment time) & { return with(rheo_reset_options_set_start_at, time.micros); }
    reset_options start_at(detail::moment time) && { return std::move(start_at(time)); }

    /// Only in these partitions.
    reset_options &partitions(const partition_set &partitions) & {
        return with(rheo_reset_options_set_partitions, partitions.data(), partitions.size());
    }
    reset_options partitions(const partition_set &set) && { return std::move(partitions(set)); }
};

// ---------------------------------------------------------------------------------------------------------- events

namespace detail {

/// What an event says; the same whether it is borrowed or owned.
template <class Self>
class event_fields {
public:
    /// The id: given at append, or made.
    std::string_view id() const noexcept { return text(rheo_event_id(self())); }
    /// The stream's name.
    std::string_view stream() const noexcept { return text(rheo_event_stream(self())); }
    /// The partition, from 0.
    std::uint32_t partition() const noexcept { return rheo_event_partition(self()); }
    /// The position in the partition, from 1.
    std::uint64_t sequence() const noexcept { return rheo_event_sequence(self()); }
    /// When it happened.
    time_point timestamp() const noexcept { return from_micros(rheo_event_timestamp(self())); }
    /// The key, if it has one.
    std::optional<std::string_view> key() const noexcept { return optional_text(rheo_event_key(self())); }
    /// The type, if it has one.
    std::optional<std::string_view> type() const noexcept { return optional_text(rheo_event_type(self())); }
    /// The metadata: the text of a JSON object, "{}" when there is none.
    std::string_view metadata() const noexcept { return text(rheo_event_metadata(self())); }
    /// The payload, byte for byte as it was appended.
    std::string_view payload() const noexcept { return text(rheo_event_payload(self())); }
    /// How the payload is tagged.
    rheo::encoding encoding() const noexcept { return static_cast<rheo::encoding>(rheo_event_encoding(self())); }
    /// Whether an append gave this event because the stream held its id already.
    bool deduplicated() const noexcept { return rheo_event_deduplicated(self()); }
    /// An event that stands by itself. The bytes are shared, not copied.
    rheo::event clone() const;

private:
    const rheo_event *self() const noexcept { return static_cast<const Self &>(*this).handle(); }
};

/// A handle that a function of rheo.h fills, again and again. Made at the first use, so that an empty one costs
/// nothing.
template <class Handle, auto New, void (*Free)(Handle *)>
class refillable {
public:
    /// For the functions of rheo.h; NULL until it was filled.
    const Handle *handle() const noexcept { return handle_.get(); }
    /// For the functions of rheo.h that fill it.
    Handle *to_fill() {
        if (handle_ == nullptr) {
            handle_.reset(make<Handle>(New));
        }
        return handle_.get();
    }

private:
    owned<Handle, Free> handle_;
};

/// A list of rheo.h, as a range of views.
template <class View, class Handle, auto New, auto Len, auto Get, void (*Free)(Handle *)>
class list : public refillable<Handle, New, Free> {
public:
    /// What it holds.
    using value_type = View;

    /// Goes over it. Gives values, not references.
    class const_iterator {
    public:
        using iterator_category = std::input_iterator_tag; ///< As values are given; it can be used again all the same.
        using value_type = View;                           ///< What it gives.
        using difference_type = std::ptrdiff_t;            ///< As the standard wants.
        using reference = View;                            ///< A view is as cheap as a reference.
        /// Keeps a view while it is looked at.
        struct pointer {
            View view;                                                ///< The view.
            const View *operator->() const noexcept { return &view; } ///< The view.
        };

        const_iterator() noexcept = default;                                                        ///< Nowhere.
        const_iterator(const Handle *list, std::size_t index) noexcept : list_(list), at_(index) {} ///< There.

        reference operator*() const noexcept { return View(Get(list_, at_)); } ///< What is here.
        pointer operator->() const noexcept { return {**this}; }               ///< What is here.
        /// Goes on.
        const_iterator &operator++() noexcept { return ++at_, *this; }
        /// Goes on.
        const_iterator operator++(int) noexcept { return {list_, at_++}; }
        /// Whether both are at the same place.
        friend bool operator==(const_iterator a, const_iterator b) noexcept { return a.at_ == b.at_; }
        /// The contrary.
        friend bool operator!=(const_iterator a, const_iterator b) noexcept { return a.at_ != b.at_; }

    private:
        const Handle *list_ = nullptr;
        std::size_t at_ = 0;
    };
    /// The same; nothing can be changed.
    using iterator = const_iterator;

    /// How many it holds.
    std::size_t size() const noexcept { return Len(this->handle()); }
    /// Whether it holds none.
    bool empty() const noexcept { return size() == 0; }
    /// What is at this place, from 0 to size() − 1.
    View operator[](std::size_t index) const noexcept { return View(Get(this->handle(), index)); }
    const_iterator begin() const noexcept { return {this->handle(), 0}; }    ///< The first.
    const_iterator end() const noexcept { return {this->handle(), size()}; } ///< Behind the last.
};

} // namespace detail

/// An event of a list, a lease or an iteration, good for as long as what it comes from. As cheap as a pointer.
class event_view : public detail::event_fields<event_view> {
public:
    /// Looks at an event of rheo.h.
    explicit event_view(const rheo_event *event = nullptr) noexcept : handle_(event) {}

    /// For the functions of rheo.h.
    const rheo_event *handle() const noexcept { return handle_; }

private:
    const rheo_event *handle_;
};

/// An event that stands by itself.
class event : public detail::event_fields<event> {
public:
    /// Takes over an event of rheo.h.
    explicit event(rheo_event *owned) noexcept : handle_(owned) {}

    /// Borrows.
    operator event_view() const noexcept { return event_view(handle()); }
    /// For the functions of rheo.h.
    const rheo_event *handle() const noexcept { return handle_.get(); }

private:
    detail::owned<rheo_event, rheo_event_free> handle_;
};

template <class Self>
event detail::event_fields<Self>::clone() const {
    return event(make<rheo_event>(rheo_event_clone, self()));
}

/// Events that were read: a range of event_view. Can be filled again, which ends the views into it.
class event_list : public detail::list<event_view, rheo_event_list, rheo_event_list_new, rheo_event_list_len,
                                       rheo_event_list_get, rheo_event_list_free> {
public:
    /// After query_page: what asks for the next page; nothing after the last one.
    std::optional<std::string_view> next_cursor() const noexcept {
        return detail::optional_text(rheo_event_list_next_cursor(handle()));
    }
};

/// All events that match a query, read a page at a time as they are asked for.
class event_stream {
public:
    /// Takes over an iterator of rheo.h.
    explicit event_stream(rheo_event_iterator *owned) noexcept : handle_(owned) {}

    /// The next event, good until the next call; nothing at the end.
    std::optional<event_view> next() {
        const rheo_event *event = detail::make<const rheo_event>(rheo_event_iterator_next, handle_.get());
        return event == nullptr ? std::nullopt : std::optional(event_view(event));
    }

    /// Goes over the events that were not asked for yet.
    class iterator {
    public:
        using iterator_category = std::input_iterator_tag; ///< Once, forwards.
        using value_type = event_view;                     ///< What it gives.
        using difference_type = std::ptrdiff_t;            ///< As the standard wants.
        using reference = const event_view &;              ///< Good until the iterator moves on.
        using pointer = const event_view *;                ///< Good until the iterator moves on.

        /// The end.
        iterator() noexcept = default;
        /// Reads the first event.
        explicit iterator(event_stream &events) : events_(&events) { ++*this; }

        reference operator*() const noexcept { return current_; } ///< The event.
        pointer operator->() const noexcept { return &current_; } ///< The event.
        /// Reads the next event.
        iterator &operator++() {
            const std::optional<event_view> next = events_->next();
            current_ = next.value_or(event_view());
            events_ = next ? events_ : nullptr;
            return *this;
        }
        /// Reads the next event.
        void operator++(int) { ++*this; }
        /// Whether both are at the end, or neither is.
        friend bool operator==(const iterator &a, const iterator &b) noexcept { return a.events_ == b.events_; }
        /// The contrary.
        friend bool operator!=(const iterator &a, const iterator &b) noexcept { return !(a == b); }

    private:
        event_stream *events_ = nullptr;
        event_view current_;
    };

    iterator begin() { return iterator(*this); }   ///< The next event.
    iterator end() noexcept { return iterator(); } ///< Behind the last event.

private:
    detail::owned<rheo_event_iterator, rheo_event_iterator_free> handle_;
};

/// Events to append together, all or nothing: at most 10,000 and 64 MiB. Can be appended more than once, and cleared
/// and filled again without allocating.
class batch {
public:
    /// An empty one.
    batch() : handle_(detail::make<rheo_batch>(rheo_batch_new)) {}

    /// Adds an event; its bytes are copied.
    batch &add(const rheo::payload &payload, const append_options &options = {}) {
        detail::call(rheo_batch_add, handle_.get(), payload.data, payload.size,
                     static_cast<rheo_encoding>(payload.encoding), options.handle());
        return *this;
    }
    /// Takes all events out; keeps the memory.
    void clear() { detail::call(rheo_batch_clear, handle_.get()); }
    /// How many events.
    std::size_t size() const noexcept { return rheo_batch_len(handle()); }
    /// Whether there are none.
    bool empty() const noexcept { return size() == 0; }
    /// For the functions of rheo.h.
    const rheo_batch *handle() const noexcept { return handle_.get(); }

private:
    detail::owned<rheo_batch, rheo_batch_free> handle_;
};

// ---------------------------------------------------------------------------------------------------------- leases

namespace detail {

/// What a lease says; the same whether it is borrowed or owned.
template <class Self>
class lease_fields {
public:
    /// The fence: 32 hexadecimal digits.
    std::string_view lease_id() const noexcept { return text(rheo_lease_id(self())); }
    /// The store's own identity of the claim; the lease id where it has none.
    std::string_view receipt() const noexcept { return text(rheo_lease_receipt(self())); }
    /// The stream's name.
    std::string_view stream() const noexcept { return text(rheo_lease_stream(self())); }
    /// The group's name.
    std::string_view group() const noexcept { return text(rheo_lease_group(self())); }
    /// Who holds it.
    std::string_view consumer_id() const noexcept { return text(rheo_lease_consumer_id(self())); }
    /// What settles it from elsewhere: another thread, another process that reaches the same store.
    std::string_view token() const noexcept { return text(rheo_lease_token(self())); }
    /// The event that is claimed.
    event_view event() const noexcept { return event_view(rheo_lease_event(self())); }
    /// The event's payload.
    std::string_view payload() const noexcept { return event().payload(); }
    /// Which delivery of the event to the group this is, from 1.
    std::uint32_t attempt() const noexcept { return rheo_lease_attempt(self()); }
    /// How long it was asked for.
    std::chrono::milliseconds lease_ms() const noexcept { return std::chrono::milliseconds(rheo_lease_ms(self())); }
    /// When it was claimed.
    time_point leased_at() const noexcept { return from_micros(rheo_lease_leased_at(self())); }
    /// When it expires. Informational: the store's own deadline counts.
    time_point expires_at() const noexcept { return from_micros(rheo_lease_expires_at(self())); }
    /// A lease that outlives its list.
    rheo::lease clone() const;

private:
    const rheo_lease *self() const noexcept { return static_cast<const Self &>(*this).handle(); }
};

} // namespace detail

/// A lease of a list, good for as long as the list is not filled again. As cheap as a pointer.
class lease_view : public detail::lease_fields<lease_view> {
public:
    /// Looks at a lease of rheo.h.
    explicit lease_view(const rheo_lease *lease = nullptr) noexcept : handle_(lease) {}

    /// For the functions of rheo.h.
    const rheo_lease *handle() const noexcept { return handle_; }

private:
    const rheo_lease *handle_;
};

/// A lease that stands by itself. Destroying it settles nothing: a claim ends when it is settled or when it expires.
class lease : public detail::lease_fields<lease> {
public:
    /// Takes over a lease of rheo.h.
    explicit lease(rheo_lease *owned) noexcept : handle_(owned) {}

    /// Borrows.
    operator lease_view() const noexcept { return lease_view(handle()); }
    /// For the functions of rheo.h.
    const rheo_lease *handle() const noexcept { return handle_.get(); }

private:
    detail::owned<rheo_lease, rheo_lease_free> handle_;
};

template <class Self>
lease detail::lease_fields<Self>::clone() const {
    return lease(make<rheo_lease>(rheo_lease_clone, self()));
}

/// What a fetch claimed: a range of lease_view. Can be filled again by the next fetch, which ends the views into it.
/// Destroying it settles nothing.
class lease_list : public detail::list<lease_view, rheo_lease_list, rheo_lease_list_new, rheo_lease_list_len,
                                       rheo_lease_list_get, rheo_lease_list_free> {};

namespace detail {

/// Whether an element of a range is a token.
template <class Element>
inline constexpr bool is_token = std::is_convertible_v<Element, std::string_view>;

/// Whether a lease_set can borrow an element of a range: a lease or a token that lies there, or a view of one.
template <class Element>
constexpr bool is_borrowable() noexcept {
    constexpr bool fits = is_token<Element> || std::is_constructible_v<lease_view, Element>;
    constexpr bool lasts = std::is_reference_v<Element> || std::is_trivially_copyable_v<Element>;
    return fits && lasts;
}

} // namespace detail

/// Leases as a parameter: a lease_list as it is, or any range of leases or of tokens. Borrows.
class lease_set {
public:
    /// No leases.
    lease_set() noexcept = default;
    /// All leases of a list.
    lease_set(const lease_list &leases) noexcept : list_(leases.handle()) {}
    /// These leases.
    lease_set(std::initializer_list<lease_view> leases) { collect(leases); }
    /// The leases of these tokens.
    lease_set(std::initializer_list<std::string_view> tokens) { collect(tokens); }
    /// What a range holds: leases, such as a std::vector<rheo::lease>, or tokens, such as a std::vector<std::string>.
    template <class Range, class Element = decltype(*std::begin(std::declval<const Range &>())),
              class = std::enable_if_t<detail::is_borrowable<Element>()>>
    lease_set(const Range &range) {
        collect(range);
    }

    /// The list, if it was made from one.
    const rheo_lease_list *list() const noexcept { return list_; }
    /// The leases, if it was made from leases.
    const std::vector<const rheo_lease *> &leases() const noexcept { return leases_; }
    /// The tokens, if it was made from tokens.
    const std::vector<rheo_bytes> &tokens() const noexcept { return tokens_; }

private:
    template <class Range>
    void collect(const Range &range) {
        for (const auto &element : range) {
            if constexpr (detail::is_token<decltype(element)>) {
                tokens_.push_back(detail::to_bytes(element));
            } else {
                leases_.push_back(lease_view(element).handle());
            }
        }
    }

    const rheo_lease_list *list_ = nullptr;
    std::vector<const rheo_lease *> leases_;
    std::vector<rheo_bytes> tokens_;
};

/// What came of settling many leases: one result each, in order. Can be filled again.
class [[nodiscard]] results : public detail::refillable<rheo_results, rheo_results_new, rheo_results_free> {
public:
    /// How many results.
    std::size_t size() const noexcept { return rheo_results_len(handle()); }
    /// How many of them are not status::ok.
    std::size_t failed() const noexcept { return rheo_results_failed(handle()); }
    /// The result of the lease at this place.
    rheo::status status(std::size_t index) const noexcept {
        return static_cast<rheo::status>(rheo_results_status(handle(), index));
    }
    /// The error of the lease at this place, if it has one.
    std::optional<rheo::error> error(std::size_t index) const {
        const rheo_error *found = rheo_results_error(handle(), index);
        if (found == nullptr) {
            return std::nullopt;
        }
        rheo_error *copy = nullptr;
        (void)rheo_error_clone(found, &copy);
        return rheo::error(status(index), copy);
    }
    /// After renew_many: when the lease at this place now expires.
    time_point expires_at(std::size_t index) const noexcept {
        return from_micros(rheo_results_expires_at(handle(), index));
    }
    /// Throws the first error, if there is one.
    void check() const {
        for (std::size_t index = 0; failed() != 0 && index != size(); ++index) {
            if (const auto found = error(index)) {
                throw *found;
            }
        }
    }
};

namespace detail {

/// The functions that settle through an instance.
struct instance_settles {
    static constexpr auto ack = rheo_instance_ack;
    static constexpr auto ack_token = rheo_instance_ack_token;
    static constexpr auto ack_many = rheo_instance_ack_many;
    static constexpr auto ack_list = rheo_instance_ack_list;
    static constexpr auto ack_tokens = rheo_instance_ack_tokens;
    static constexpr auto retry = rheo_instance_retry;
    static constexpr auto retry_token = rheo_instance_retry_token;
    static constexpr auto retry_many = rheo_instance_retry_many;
    static constexpr auto retry_list = rheo_instance_retry_list;
    static constexpr auto retry_tokens = rheo_instance_retry_tokens;
    static constexpr auto reject = rheo_instance_reject;
    static constexpr auto reject_token = rheo_instance_reject_token;
    static constexpr auto reject_many = rheo_instance_reject_many;
    static constexpr auto reject_list = rheo_instance_reject_list;
    static constexpr auto reject_tokens = rheo_instance_reject_tokens;
    static constexpr auto release = rheo_instance_release;
    static constexpr auto release_token = rheo_instance_release_token;
    static constexpr auto release_many = rheo_instance_release_many;
    static constexpr auto release_list = rheo_instance_release_list;
    static constexpr auto release_tokens = rheo_instance_release_tokens;
    static constexpr auto renew = rheo_instance_renew;
    static constexpr auto renew_token = rheo_instance_renew_token;
    static constexpr auto renew_many = rheo_instance_renew_many;
    static constexpr auto renew_list = rheo_instance_renew_list;
    static constexpr auto renew_tokens = rheo_instance_renew_tokens;
};

/// The functions that settle through a group.
struct group_settles {
    static constexpr auto ack = rheo_group_ack;
    static constexpr auto ack_token = rheo_group_ack_token;
    static constexpr auto ack_many = rheo_group_ack_many;
    static constexpr auto ack_list = rheo_group_ack_list;
    static constexpr auto ack_tokens = rheo_group_ack_tokens;
    static constexpr auto retry = rheo_group_retry;
    static constexpr auto retry_token = rheo_group_retry_token;
    static constexpr auto retry_many = rheo_group_retry_many;
    static constexpr auto retry_list = rheo_group_retry_list;
    static constexpr auto retry_tokens = rheo_group_retry_tokens;
    static constexpr auto reject = rheo_group_reject;
    static constexpr auto reject_token = rheo_group_reject_token;
    static constexpr auto reject_many = rheo_group_reject_many;
    static constexpr auto reject_list = rheo_group_reject_list;
    static constexpr auto reject_tokens = rheo_group_reject_tokens;
    static constexpr auto release = rheo_group_release;
    static constexpr auto release_token = rheo_group_release_token;
    static constexpr auto release_many = rheo_group_release_many;
    static constexpr auto release_list = rheo_group_release_list;
    static constexpr auto release_tokens = rheo_group_release_tokens;
    static constexpr auto renew = rheo_group_renew;
    static constexpr auto renew_token = rheo_group_renew_token;
    static constexpr auto renew_many = rheo_group_renew_many;
    static constexpr auto renew_list = rheo_group_renew_list;
    static constexpr auto renew_tokens = rheo_group_renew_tokens;
};

/// Settling, through an instance or a group. A lease says by itself where it belongs; a group settles its own leases
/// only, another's is stale there. Everything here takes leases or their tokens. What fails throws;
/// error::settle_class says what to conclude.
template <class Self, class Settles>
class settling {
public:
    /// Ends a claim: the work is done.
    void ack(lease_view lease) const { call(Settles::ack, self(), lease.handle()); }
    /// The same by token.
    void ack(std::string_view token) const { call(Settles::ack_token, self(), token.data(), token.size()); }

    /// Gives a delivery back for another attempt after a delay; dead-letters it when it has had max_attempts. At most
    /// 1 KiB of a reason is kept, here and in reject.
    void retry(lease_view lease, std::string_view reason = {}, std::chrono::milliseconds delay_ms = {}) const {
        call(Settles::retry, self(), lease.handle(), reason.data(), reason.size(), delay_ms.count());
    }
    /// The same by token.
    void retry(std::string_view token, std::string_view reason = {}, std::chrono::milliseconds delay_ms = {}) const {
        call(Settles::retry_token, self(), token.data(), token.size(), reason.data(), reason.size(), delay_ms.count());
    }

    /// Makes a delivery a dead letter.
    void reject(lease_view lease, std::string_view reason = {}) const {
        call(Settles::reject, self(), lease.handle(), reason.data(), reason.size());
    }
    /// The same by token.
    void reject(std::string_view token, std::string_view reason = {}) const {
        call(Settles::reject_token, self(), token.data(), token.size(), reason.data(), reason.size());
    }

    /// Gives a delivery back unworked: available at once, and the attempt does not count.
    void release(lease_view lease) const { call(Settles::release, self(), lease.handle()); }
    /// The same by token.
    void release(std::string_view token) const { call(Settles::release_token, self(), token.data(), token.size()); }

    /// Extends a claim to so long from now, as long as it was asked for when not given; gives when it then expires.
    time_point renew(lease_view lease, std::optional<std::chrono::milliseconds> lease_ms = {}) const {
        const std::int64_t duration = lease_ms.value_or(std::chrono::milliseconds()).count();
        std::int64_t expires_at = 0;
        call(Settles::renew, self(), lease.handle(), lease_ms ? &duration : nullptr, &expires_at);
        return from_micros(expires_at);
    }
    /// The same by token.
    time_point renew(std::string_view token, std::optional<std::chrono::milliseconds> lease_ms = {}) const {
        const std::int64_t duration = lease_ms.value_or(std::chrono::milliseconds()).count();
        std::int64_t expires_at = 0;
        call(Settles::renew_token, self(), token.data(), token.size(), lease_ms ? &duration : nullptr, &expires_at);
        return from_micros(expires_at);
    }

    /// Acks many: one result per lease, in order; one that fails changes nothing for the others and throws nothing, a
    /// malformed token neither. At most 10,000, here and in those that follow.
    results ack_many(const lease_set &leases) const {
        results results;
        ack_many_into(leases, results);
        return results;
    }
    /// The same into results that are filled again.
    void ack_many_into(const lease_set &leases, results &results) const {
        many(Settles::ack_list, Settles::ack_many, Settles::ack_tokens, leases, results);
    }
    /// Retries many, with one reason and one delay for all.
    results retry_many(const lease_set &leases, std::string_view reason = {},
                       std::chrono::milliseconds delay_ms = {}) const {
        results results;
        many(Settles::retry_list, Settles::retry_many, Settles::retry_tokens, leases, results, reason.data(),
             reason.size(), delay_ms.count());
        return results;
    }
    /// Rejects many, with one reason for all.
    results reject_many(const lease_set &leases, std::string_view reason = {}) const {
        results results;
        many(Settles::reject_list, Settles::reject_many, Settles::reject_tokens, leases, results, reason.data(),
             reason.size());
        return results;
    }
    /// Releases many.
    results release_many(const lease_set &leases) const {
        results results;
        many(Settles::release_list, Settles::release_many, Settles::release_tokens, leases, results);
        return results;
    }
    /// Renews many; results::expires_at says until when.
    results renew_many(const lease_set &leases, std::optional<std::chrono::milliseconds> lease_ms = {}) const {
        const std::int64_t duration = lease_ms.value_or(std::chrono::milliseconds()).count();
        results results;
        many(Settles::renew_list, Settles::renew_many, Settles::renew_tokens, leases, results,
             lease_ms ? &duration : nullptr);
        return results;
    }

private:
    auto self() const noexcept { return static_cast<const Self &>(*this).handle(); }

    template <class List, class Many, class Tokens, class... Arguments>
    void many(List list, Many many, Tokens tokens, const lease_set &leases, results &results,
              Arguments... arguments) const {
        if (leases.list() != nullptr) {
            call(list, self(), leases.list(), arguments..., results.to_fill());
        } else if (!leases.tokens().empty()) {
            call(tokens, self(), leases.tokens().data(), leases.tokens().size(), arguments..., results.to_fill());
        } else {
            call(many, self(), leases.leases().data(), leases.leases().size(), arguments..., results.to_fill());
        }
    }
};

} // namespace detail

// ------------------------------------------------------------------------------------------ producers and consumers

/// Turns demand into leases, renews them until they are settled, on a thread of the instance's own, and never holds more
/// than max_demand of them. The head of a pipeline, whose stages settle:
///
///     rheo::producer producer = db.producer("orders", "billing");
///     for (rheo::lease_view lease : producer) {
///         bill(lease.payload());
///         producer.ack(lease);
///     }
///
/// The loop waits for events and ends when another thread drains or closes the producer. Settle through the producer:
/// that frees the lease's slot, whatever it answered; for what is settled in another way there is confirm. Destroying it
/// closes it without waiting: what was not settled is available to others at once. Keeps the instance open. Any thread.
class producer {
public:
    /// Takes over a producer of rheo.h.
    explicit producer(rheo_producer *owned) noexcept : handle_(owned) {}

    /// At most so many leases; waits so long for the first. An empty list when none came, nothing at all once the
    /// producer was drained or closed. Throws when the instance, the stream or the group is gone.
    std::optional<lease_list> next(std::int64_t most, std::chrono::milliseconds timeout_ms, cancel until = {}) const {
        lease_list leases;
        return next_into(leases, most, timeout_ms, until) ? std::optional(std::move(leases)) : std::nullopt;
    }
    /// The same into a list that is filled again; false once the producer was drained or closed.
    bool next_into(lease_list &leases, std::int64_t most, std::chrono::milliseconds timeout_ms,
                   cancel until = {}) const {
        bool stopped = false;
        detail::call(rheo_producer_next, handle(), most, std::int64_t{timeout_ms.count()}, until.handle(),
                     leases.to_fill(), &stopped);
        return !stopped;
    }

    /// Ends a claim: the work is done.
    void ack(lease_view lease) const { detail::call(rheo_producer_ack, handle(), lease.handle()); }
    /// The same by token.
    void ack(std::string_view token) const {
        detail::call(rheo_producer_ack_token, handle(), token.data(), token.size());
    }
    /// Gives a delivery back for another attempt after a delay, the producer's own when not given.
    void retry(lease_view lease, std::string_view reason = {},
               std::optional<std::chrono::milliseconds> delay_ms = {}) const {
        const std::int64_t delay = delay_ms.value_or(std::chrono::milliseconds()).count();
        detail::call(rheo_producer_retry, handle(), lease.handle(), reason.data(), reason.size(),
                     delay_ms ? &delay : nullptr);
    }
    /// The same by token.
    void retry(std::string_view token, std::string_view reason = {},
               std::optional<std::chrono::milliseconds> delay_ms = {}) const {
        const std::int64_t delay = delay_ms.value_or(std::chrono::milliseconds()).count();
        detail::call(rheo_producer_retry_token, handle(), token.data(), token.size(), reason.data(), reason.size(),
                     delay_ms ? &delay : nullptr);
    }
    /// Makes a delivery a dead letter.
    void reject(lease_view lease, std::string_view reason = {}) const {
        detail::call(rheo_producer_reject, handle(), lease.handle(), reason.data(), reason.size());
    }
    /// The same by token.
    void reject(std::string_view token, std::string_view reason = {}) const {
        detail::call(rheo_producer_reject_token, handle(), token.data(), token.size(), reason.data(), reason.size());
    }
    /// Gives a delivery back unworked: available at once, and the attempt does not count.
    void release(lease_view lease) const { detail::call(rheo_producer_release, handle(), lease.handle()); }
    /// The same by token.
    void release(std::string_view token) const {
        detail::call(rheo_producer_release_token, handle(), token.data(), token.size());
    }
    /// Says that the work failed: retries or rejects, as producer_options::on_failure says.
    void fail(lease_view lease, std::string_view reason = {}) const {
        detail::call(rheo_producer_fail, handle(), lease.handle(), reason.data(), reason.size());
    }
    /// The same by token.
    void fail(std::string_view token, std::string_view reason = {}) const {
        detail::call(rheo_producer_fail_token, handle(), token.data(), token.size(), reason.data(), reason.size());
    }
    /// Acks many: see instance::ack_many.
    results ack_many(const lease_set &leases) const {
        results results;
        ack_many_into(leases, results);
        return results;
    }
    /// The same into results that are filled again.
    void ack_many_into(const lease_set &leases, results &results) const {
        if (leases.list() != nullptr) {
            detail::call(rheo_producer_ack_list, handle(), leases.list(), results.to_fill());
        } else if (!leases.tokens().empty()) {
            detail::call(rheo_producer_ack_tokens, handle(), leases.tokens().data(), leases.tokens().size(),
                         results.to_fill());
        } else {
            detail::call(rheo_producer_ack_many, handle(), leases.leases().data(), leases.leases().size(),
                         results.to_fill());
        }
    }

    /// Frees the slots of leases that were settled without this producer, by their lease ids; gives how many it held.
    std::uint64_t confirm(const std::vector<std::string_view> &lease_ids) const {
        std::vector<rheo_bytes> ids;
        for (const std::string_view lease_id : lease_ids) {
            ids.push_back(detail::to_bytes(lease_id));
        }
        return detail::get_count(rheo_producer_confirm, handle(), ids.data(), ids.size());
    }
    /// How many leases it holds that are not settled.
    std::uint64_t inflight_count() const { return detail::get_count(rheo_producer_inflight_count, handle()); }
    /// Gives no more leases, and waits so long for those that it gave to be settled; gives whether all were.
    bool drain(std::chrono::milliseconds timeout_ms = std::chrono::seconds(30)) const {
        bool settled = false;
        detail::call(rheo_producer_drain, handle(), std::int64_t{timeout_ms.count()}, &settled);
        return settled;
    }
    /// Drains for so long, then makes available to others what was not settled. Closing again does nothing.
    void close(std::chrono::milliseconds timeout_ms = {}) const {
        detail::call(rheo_producer_close, handle(), std::int64_t{timeout_ms.count()});
    }
    /// Whether it gives no more leases.
    bool is_stopped() const noexcept { return rheo_producer_is_stopped(handle()); }

    /// Takes one lease after the other, and waits for each as long as it takes.
    class iterator {
    public:
        using iterator_category = std::input_iterator_tag; ///< Once, forwards.
        using value_type = lease_view;                     ///< What it gives.
        using difference_type = std::ptrdiff_t;            ///< As the standard wants.
        using reference = lease_view;                      ///< Good until the iterator moves on.
        using pointer = const lease_view *;                ///< Good until the iterator moves on.

        /// The end.
        iterator() noexcept = default;
        /// Takes the first lease.
        explicit iterator(const rheo_producer *producer)
            : producer_(producer), leases_(std::make_shared<lease_list>()) {
            ++*this;
        }

        reference operator*() const noexcept { return current_; } ///< The lease.
        pointer operator->() const noexcept { return &current_; } ///< The lease.
        /// Takes the next lease.
        iterator &operator++() {
            bool stopped = false;
            do {
                detail::call(rheo_producer_next, producer_, std::int64_t{1}, hour, nullptr, leases_->to_fill(),
                             &stopped);
            } while (!stopped && leases_->empty());
            current_ = (*leases_)[0];
            producer_ = stopped ? nullptr : producer_;
            return *this;
        }
        /// Takes the next lease.
        void operator++(int) { ++*this; }
        /// Whether both are at the end, or neither is.
        friend bool operator==(const iterator &a, const iterator &b) noexcept { return a.producer_ == b.producer_; }
        /// The contrary.
        friend bool operator!=(const iterator &a, const iterator &b) noexcept { return !(a == b); }

    private:
        static constexpr std::int64_t hour = 3'600'000;

        const rheo_producer *producer_ = nullptr;
        std::shared_ptr<lease_list> leases_;
        lease_view current_;
    };

    iterator begin() const { return iterator(handle()); } ///< The next lease.
    iterator end() const noexcept { return iterator(); }  ///< When it was drained or closed.

    /// For the functions of rheo.h.
    const rheo_producer *handle() const noexcept { return handle_.get(); }

private:
    detail::owned<rheo_producer, rheo_producer_free> handle_;
};

/// What a handler says of an event.
class outcome {
public:
    /// Done.
    static outcome ack() noexcept { return outcome(kind::ack); }
    /// Another attempt after a delay, the consumer's own when not given; a dead letter after max_attempts. At most 1 KiB
    /// of a reason is kept, here and in what follows.
    static outcome retry(std::string reason = {}, std::optional<std::chrono::milliseconds> delay_ms = {}) noexcept {
        return outcome(kind::retry, std::move(reason), delay_ms);
    }
    /// A dead letter.
    static outcome reject(std::string reason = {}) noexcept { return outcome(kind::reject, std::move(reason)); }
    /// The work failed, as if the handler had thrown: consumer_options::on_failure says what becomes of it.
    static outcome fail(std::string reason = {}) noexcept { return outcome(kind::fail, std::move(reason)); }
    /// Not worked on: available to others at once, and the attempt does not count.
    static outcome release() noexcept { return outcome(kind::release); }

private:
    friend class work;

    enum class kind { ack, retry, reject, fail, release };

    explicit outcome(kind kind, std::string reason = {},
                     std::optional<std::chrono::milliseconds> delay_ms = {}) noexcept
        : kind_(kind), reason_(std::move(reason)), delay_ms_(delay_ms) {}

    kind kind_;
    std::string reason_;
    std::optional<std::chrono::milliseconds> delay_ms_;
};

/// What a handler of batches works on: a range of lease_view, good until the handler returns, and what it says of each.
/// What it says nothing of is acked when it returns, and fails when it throws.
class work {
public:
    /// Looks at what a handler of rheo.h is given.
    explicit work(rheo_work *work) noexcept : handle_(work) {}

    /// Goes over the leases.
    class const_iterator {
    public:
        using iterator_category = std::input_iterator_tag; ///< As values are given; it can be used again all the same.
        using value_type = lease_view;                     ///< What it gives.
        using difference_type = std::ptrdiff_t;            ///< As the standard wants.
        using reference = lease_view;                      ///< A view is as cheap as a reference.
        using pointer = void;                              ///< There is none.

        const_iterator(const rheo_work *work, std::size_t at) noexcept : work_(work), at_(at) {} ///< There.

        reference operator*() const noexcept { return lease_view(rheo_work_lease(work_, at_)); } ///< What is here.
        /// Goes on.
        const_iterator &operator++() noexcept { return ++at_, *this; }
        /// Goes on.
        const_iterator operator++(int) noexcept { return {work_, at_++}; }
        /// Whether both are at the same place.
        friend bool operator==(const_iterator a, const_iterator b) noexcept { return a.at_ == b.at_; }
        /// The contrary.
        friend bool operator!=(const_iterator a, const_iterator b) noexcept { return a.at_ != b.at_; }

    private:
        const rheo_work *work_;
        std::size_t at_;
    };

    /// How many leases, at least one.
    std::size_t size() const noexcept { return rheo_work_len(handle_); }
    /// The lease at this place, from 0 to size() − 1.
    lease_view operator[](std::size_t index) const noexcept { return lease_view(rheo_work_lease(handle_, index)); }
    const_iterator begin() const noexcept { return {handle_, 0}; }    ///< The first.
    const_iterator end() const noexcept { return {handle_, size()}; } ///< Behind the last.
    /// Asks to stop when one of the leases is lost, after max_lease_ms, and when the consumer is closed and its time is
    /// over.
    rheo::cancel cancel() const noexcept { return rheo::cancel(rheo_work_interrupt(handle_)); }

    /// Says what becomes of the lease at this place. Said again, it replaces what was said before. Throws
    /// invalid_argument for a place beyond the end and for a delay below 0 or above ten years.
    void set(std::size_t index, const outcome &outcome) {
        const std::string &reason = outcome.reason_;
        switch (outcome.kind_) {
        case outcome::kind::ack:
            return detail::call(rheo_work_ack, handle_, index);
        case outcome::kind::retry: {
            const std::int64_t delay = outcome.delay_ms_.value_or(std::chrono::milliseconds()).count();
            return detail::call(rheo_work_retry, handle_, index, reason.data(), reason.size(),
                                outcome.delay_ms_ ? &delay : nullptr);
        }
        case outcome::kind::reject:
            return detail::call(rheo_work_reject, handle_, index, reason.data(), reason.size());
        case outcome::kind::fail:
            return detail::call(rheo_work_fail, handle_, index, reason.data(), reason.size());
        case outcome::kind::release:
            return detail::call(rheo_work_release, handle_, index);
        }
    }

    /// For the functions of rheo.h.
    rheo_work *handle() const noexcept { return handle_; }

private:
    rheo_work *handle_;
};

namespace detail {

/// How a handler of C++ is called from rheo.h.
template <class Handler>
struct handling {
    /// Whether it wants to know when to stop.
    static constexpr bool takes_cancel = std::is_invocable_v<Handler &, lease_view, cancel>;
    /// Whether it takes one lease, not a batch.
    static constexpr bool takes_one = takes_cancel || std::is_invocable_v<Handler &, lease_view>;
    static_assert(takes_one || std::is_invocable_v<Handler &, work &>,
                  "a handler takes a rheo::lease_view, and a rheo::cancel if it likes, or a rheo::work &");

    /// Handles what there is; what is thrown is a failure, and goes no further.
    static rheo_status handle(rheo_work *given, void *context) noexcept {
        Handler &handler = *static_cast<Handler *>(context);
        work work(given);
        if constexpr (takes_one) {
            for (std::size_t index = 0; index != work.size(); ++index) {
                try_to(
                    [&] { handle_one(handler, work, index); },
                    [&](std::string_view why) { (void)rheo_work_fail(given, index, why.data(), why.size(), nullptr); });
            }
            return RHEO_OK;
        } else {
            static_assert(std::is_void_v<std::invoke_result_t<Handler &, rheo::work &>>,
                          "a handler of a rheo::work & says its outcomes by work::set, and returns nothing");
            rheo_status status = RHEO_OK;
            try_to([&] { std::invoke(handler, work); },
                   [&](std::string_view why) {
                       (void)rheo_work_set_reason(given, why.data(), why.size(), nullptr);
                       status = RHEO_ERROR_FAILED;
                   });
            return status;
        }
    }

    /// Destroys the handler.
    static void forget(void *context) noexcept { delete static_cast<Handler *>(context); }

private:
    static void handle_one(Handler &handler, work &work, std::size_t index) {
        const auto call = [&]() -> decltype(auto) {
            if constexpr (takes_cancel) {
                return std::invoke(handler, work[index], work.cancel());
            } else {
                return std::invoke(handler, work[index]);
            }
        };
        using result = decltype(call());
        static_assert(std::is_void_v<result> || std::is_convertible_v<result, outcome>,
                      "a handler returns a rheo::outcome, or nothing for an ack");
        if constexpr (std::is_void_v<result>) {
            call();
        } else {
            work.set(index, call());
        }
    }

    template <class Action, class Failed>
    static void try_to(const Action &action, const Failed &failed) noexcept {
        try {
            action();
        } catch (const std::exception &exception) {
            failed(exception.what());
        } catch (...) {
            failed("the handler threw something that is no std::exception");
        }
    }
};

/// Starts a consumer by a function of rheo.h. The handler is destroyed by it, also when the start fails.
template <class Handler, class Function, class... Arguments>
rheo_consumer *start_consumer(Handler &&handler, Function function, Arguments... arguments) {
    using kept = std::decay_t<Handler>;
    auto context = std::make_unique<kept>(std::forward<Handler>(handler));
    return make<rheo_consumer>(function, arguments..., &handling<kept>::handle, static_cast<void *>(context.release()),
                               &handling<kept>::forget);
}

/// How a consumer ends that is destroyed.
struct consumer_closer {
    /// Lets no handler run any more, and frees it.
    void operator()(rheo_consumer *consumer) const noexcept {
        constexpr std::int64_t handlers_get = 30'000;
        constexpr std::int64_t ten_years = 315'360'000'000;
        bool ended = false;
        (void)rheo_consumer_close(consumer, handlers_get, nullptr);
        (void)rheo_consumer_wait(consumer, ten_years, &ended, nullptr);
        rheo_consumer_free(consumer);
    }
};

} // namespace detail

/// Calls a handler for the events of a group, on threads of its own, and settles them by what the handler says. Started
/// by instance::consumer or group::consumer, with a function object that takes
///
/// - a lease_view, and a rheo::cancel if it likes, and returns an outcome or nothing, which is an ack; or
/// - a work &, which is a batch of leases, and returns nothing: it says by work::set what is not to be acked.
///
/// A handler that throws has failed: the text of the exception is the reason. It is called by up to `concurrency`
/// threads at once, may call anything, and may close its own consumer. Two consumers on one group compete for its
/// events: do that only on purpose.
///
/// Destroying a consumer ends it as std::jthread does its thread, so that a handler may refer to what outlives the
/// consumer: no further handler is started, what no handler has begun with is given back at once, and the destructor
/// waits until those that run have returned. After 30 s their cancel asks them to stop, and what they say counts for
/// nothing then. (Destroyed by its own handler it does not wait.) Keeps the instance open. Any thread.
class consumer {
public:
    /// Takes over a consumer of rheo.h.
    explicit consumer(rheo_consumer *owned) noexcept : handle_(owned) {}

    /// Starts no more handlers, gives back what none has begun with, and waits so long for those that run; gives whether
    /// all is settled.
    bool drain(std::chrono::milliseconds timeout_ms = std::chrono::seconds(30)) const {
        bool settled = false;
        detail::call(rheo_consumer_drain, handle(), std::int64_t{timeout_ms.count()}, &settled);
        return settled;
    }
    /// Drains for so long, then asks the handlers that still run to stop and makes their events available to others.
    /// Closing again does nothing.
    void close(std::chrono::milliseconds timeout_ms = std::chrono::seconds(30)) const {
        detail::call(rheo_consumer_close, handle(), std::int64_t{timeout_ms.count()});
    }
    /// Waits so long until it has ended and all its handlers have returned; gives whether that is so. Throws the error
    /// that ended it by itself: closed, poisoned, stream_not_found, group_not_found.
    bool wait(std::chrono::milliseconds timeout_ms) const {
        bool ended = false;
        detail::call(rheo_consumer_wait, handle(), std::int64_t{timeout_ms.count()}, &ended);
        return ended;
    }
    /// Whether it takes events.
    bool is_running() const noexcept { return rheo_consumer_is_running(handle()); }
    /// How many leases it holds that are not settled.
    std::uint64_t inflight_count() const { return detail::get_count(rheo_consumer_inflight_count, handle()); }
    /// For the functions of rheo.h.
    const rheo_consumer *handle() const noexcept { return handle_.get(); }

private:
    std::unique_ptr<rheo_consumer, detail::consumer_closer> handle_;
};

// ------------------------------------------------------------------------------------------------------ inspection

/// A group's progress in one partition: `frontier`, `high_watermark`, `lag`, `partition`.
using partition_lag = rheo_partition_lag;

/// How far a group has come.
struct lag {
    std::string stream;                                ///< The stream's name.
    std::string group;                                 ///< The group's name.
    std::uint64_t total;                               ///< The lag, summed over the partitions asked for.
    std::map<std::uint32_t, partition_lag> partitions; ///< By partition.
};

/// What there is to know of a group.
struct group_info {
    rheo::lag lag;                                 ///< How far it has come.
    std::uint64_t inflight_count;                  ///< Leases that have not expired.
    std::uint64_t available_count;                 ///< Deliveries that are open and claimable now.
    std::uint64_t delayed_count;                   ///< Deliveries whose retry is not due yet.
    std::uint64_t dead_letter_count;               ///< Dead letters.
    std::optional<time_point> oldest_unsettled_at; ///< The oldest timestamp right behind a frontier; none at lag 0.
    std::uint32_t max_attempts;                    ///< See group_options.
    std::uint32_t max_deliveries;                  ///< See group_options; 0: no limit.
    rheo::ordering ordering;                       ///< See group_options.
};

/// A delivery that was rejected or ran into a limit; not fetched again until replayed.
struct dead_letter {
    rheo::event event;           ///< The event.
    std::string group;           ///< The group's name.
    std::uint32_t attempt;       ///< How often it had been delivered.
    std::string reason;          ///< Why.
    time_point dead_lettered_at; ///< When.
};

/// What keeps a partition's events from being trimmed without force.
struct retention_hold {
    std::string group;      ///< The group that needs them.
    std::uint64_t sequence; ///< The lowest sequence that it needs.
    bool dead_letter;       ///< Whether that is a dead letter of the group; otherwise the group has not passed it.
};

/// What there is to know of a partition.
struct partition_info {
    std::uint32_t partition;               ///< The partition, from 0.
    std::uint64_t first_sequence;          ///< The first sequence that is kept; high watermark + 1 when none is.
    std::uint64_t high_watermark;          ///< The last visible sequence; 0 when there never was one.
    std::uint64_t bytes;                   ///< Bytes kept: payload, metadata, id, key and type.
    std::optional<retention_hold> held_by; ///< What holds retention back, if anything does.
};

/// What there is to know of a stream.
struct stream_info {
    std::string stream;                     ///< The stream's name.
    std::vector<partition_info> partitions; ///< All of them, in order.
};

/// What a backend guarantees and how, by the contract's names: `capabilities.guarantees.at("durable")`.
struct capabilities {
    std::map<std::string, bool, std::less<>> guarantees; ///< What it guarantees.
    std::map<std::string, bool, std::less<>> mechanisms; ///< By which mechanisms.
};

namespace detail {

// What inspection gives is rarely asked for and small: it is copied into values, and the handle is freed at once. Each
// of these makes the call that it is given.

/// The names in a list.
template <class... Arguments>
std::vector<std::string> get_names(Arguments... arguments) {
    const owned<rheo_name_list, rheo_name_list_free> given(make<rheo_name_list>(arguments...));
    std::vector<std::string> names;
    for (std::size_t index = 0; index != rheo_name_list_len(given.get()); ++index) {
        names.emplace_back(text(rheo_name_list_get(given.get(), index)));
    }
    return names;
}

/// A lag as values.
inline lag copy_lag(const rheo_lag *given) {
    lag copy{
        std::string(text(rheo_lag_stream(given))), std::string(text(rheo_lag_group(given))), rheo_lag_total(given), {}};
    for (std::size_t index = 0; index != rheo_lag_len(given); ++index) {
        partition_lag of_one{};
        call(rheo_lag_get, given, index, &of_one);
        copy.partitions.emplace(of_one.partition, of_one);
    }
    return copy;
}

/// The lag that a call gives.
template <class... Arguments>
lag get_lag(Arguments... arguments) {
    const owned<rheo_lag, rheo_lag_free> given(make<rheo_lag>(arguments...));
    return copy_lag(given.get());
}

/// What there is to know of a group.
template <class... Arguments>
group_info get_group_info(Arguments... arguments) {
    const owned<rheo_group_info, rheo_group_info_free> owner(make<rheo_group_info>(arguments...));
    const rheo_group_info *given = owner.get();
    std::int64_t oldest = 0;
    const bool has_oldest = rheo_group_info_oldest_unsettled_at(given, &oldest);
    return {copy_lag(rheo_group_info_lag(given)),
            rheo_group_info_inflight_count(given),
            rheo_group_info_available_count(given),
            rheo_group_info_delayed_count(given),
            rheo_group_info_dead_letter_count(given),
            has_oldest ? std::optional(from_micros(oldest)) : std::nullopt,
            rheo_group_info_max_attempts(given),
            rheo_group_info_max_deliveries(given),
            static_cast<ordering>(rheo_group_info_ordering(given))};
}

/// Dead letters, each with an event that stands by itself.
template <class... Arguments>
std::vector<dead_letter> get_dead_letters(Arguments... arguments) {
    const owned<rheo_dead_letter_list, rheo_dead_letter_list_free> given(make<rheo_dead_letter_list>(arguments...));
    std::vector<dead_letter> letters;
    for (std::size_t index = 0; index != rheo_dead_letter_list_len(given.get()); ++index) {
        const rheo_dead_letter *letter = rheo_dead_letter_list_get(given.get(), index);
        letters.push_back({event_view(rheo_dead_letter_event(letter)).clone(),
                           std::string(text(rheo_dead_letter_group(letter))), rheo_dead_letter_attempt(letter),
                           std::string(text(rheo_dead_letter_reason(letter))),
                           from_micros(rheo_dead_letter_dead_lettered_at(letter))});
    }
    return letters;
}

/// What there is to know of a stream.
template <class... Arguments>
stream_info get_stream_info(Arguments... arguments) {
    const owned<rheo_stream_info, rheo_stream_info_free> given(make<rheo_stream_info>(arguments...));
    stream_info info{std::string(text(rheo_stream_info_stream(given.get()))), {}};
    for (std::size_t index = 0; index != rheo_stream_info_len(given.get()); ++index) {
        rheo_partition_info of_one{};
        call(rheo_stream_info_get, given.get(), index, &of_one);
        std::optional<retention_hold> hold;
        if (const auto group = optional_text(of_one.held_by)) {
            hold = retention_hold{std::string(*group), of_one.held_sequence, of_one.held_dead_letter};
        }
        info.partitions.push_back(
            {of_one.partition, of_one.first_sequence, of_one.high_watermark, of_one.bytes, std::move(hold)});
    }
    return info;
}

/// What a backend guarantees and how.
inline capabilities get_capabilities(const rheo_instance *instance) {
    const owned<rheo_capabilities, rheo_capabilities_free> given(
        make<rheo_capabilities>(rheo_instance_capabilities, instance));
    const auto flags = [&given](auto len, auto name, auto value) {
        std::map<std::string, bool, std::less<>> by_name;
        for (std::size_t index = 0; index != len(given.get()); ++index) {
            const std::string_view key = text(name(given.get(), index));
            bool flag = false;
            call(value, given.get(), key.data(), key.size(), &flag);
            by_name.emplace(key, flag);
        }
        return by_name;
    };
    return {flags(rheo_capabilities_guarantees_len, rheo_capabilities_guarantee_name, rheo_capabilities_guarantee),
            flags(rheo_capabilities_mechanisms_len, rheo_capabilities_mechanism_name, rheo_capabilities_mechanism)};
}

/// Texts as rheo.h takes them.
inline std::vector<rheo_bytes> to_bytes(const std::vector<std::string_view> &texts) {
    std::vector<rheo_bytes> bytes;
    for (const std::string_view text : texts) {
        bytes.push_back(to_bytes(text));
    }
    return bytes;
}

} // namespace detail

// --------------------------------------------------------------------------------------------- stream, group, instance

/// A stream, its name resolved once: the operations of instance without the name, and faster. Keeps the instance open.
/// Whether the stream exists shows at the first use. Any thread.
class stream {
public:
    /// Takes over a stream of rheo.h.
    explicit stream(rheo_stream *owned) noexcept : handle_(owned) {}

    /// The stream's name.
    std::string_view name() const noexcept { return detail::text(rheo_stream_name(handle())); }
    /// A handle of the instance.
    rheo::instance instance() const;

    /// See instance::append.
    position append(const payload &payload, const append_options &options = {}) const {
        rheo::position at{};
        detail::call(rheo_stream_append, handle(), payload.data, payload.size,
                     static_cast<rheo_encoding>(payload.encoding), options.handle(), &at, nullptr);
        return at;
    }
    /// See instance::append_event.
    event append_event(const payload &payload, const append_options &options = {}) const {
        return event(detail::make<rheo_event>(rheo_stream_append, handle(), payload.data, payload.size,
                                              static_cast<rheo_encoding>(payload.encoding), options.handle(), nullptr));
    }
    /// See instance::append_batch.
    event_list append_batch(const batch &batch, const append_options &shared = {}) const {
        return detail::fill<event_list>(rheo_stream_append_batch, handle(), batch.handle(), shared.handle());
    }
    /// See instance::read.
    event_list read(std::uint32_t partition = 0, std::uint64_t after = 0, std::int64_t limit = 100) const {
        event_list events;
        read_into(partition, after, limit, events);
        return events;
    }
    /// The same into a list that is filled again.
    void read_into(std::uint32_t partition, std::uint64_t after, std::int64_t limit, event_list &events) const {
        detail::call(rheo_stream_read, handle(), partition, after, limit, events.to_fill());
    }
    /// See instance::get.
    std::optional<event> get(std::string_view event_id) const {
        return detail::find<rheo::event, rheo_event>(rheo_stream_get_event, handle(), event_id.data(), event_id.size());
    }
    /// See instance::query.
    event_list query(const rheo::query &query = {}) const {
        return detail::fill<event_list>(rheo_stream_query, handle(), query.handle());
    }
    /// See instance::query_page.
    event_list query_page(const rheo::query &query = {}, std::optional<std::string_view> cursor = {}) const {
        const std::string_view after = cursor.value_or(std::string_view());
        return detail::fill<event_list>(rheo_stream_query_page, handle(), query.handle(), after.data(), after.size());
    }
    /// See instance::query_stream.
    event_stream query_stream(const rheo::query &query = {}) const {
        return event_stream(detail::make<rheo_event_iterator>(rheo_stream_query_stream, handle(), query.handle()));
    }
    /// See instance::trim.
    std::uint64_t trim(const trim_options &options) const {
        return detail::get_count(rheo_stream_trim, handle(), options.handle());
    }
    /// See instance::stream_info.
    stream_info info() const { return detail::get_stream_info(rheo_stream_get_info, handle()); }
    /// See instance::list_groups.
    std::vector<std::string> list_groups() const { return detail::get_names(rheo_stream_list_groups, handle()); }
    /// See instance::delete_stream.
    void delete_stream(bool confirm) const { detail::call(rheo_stream_delete, handle(), confirm); }

    /// For the functions of rheo.h.
    const rheo_stream *handle() const noexcept { return handle_.get(); }

private:
    detail::owned<rheo_stream, rheo_stream_free> handle_;
};

/// A group, its names resolved once: the operations of instance without the names, and faster. It settles its own
/// leases only: another group's is stale_lease. Keeps the instance open. Whether the group exists shows at the first
/// use. Any thread.
class group : public detail::settling<group, detail::group_settles> {
public:
    /// Takes over a group of rheo.h.
    explicit group(rheo_group *owned) noexcept : handle_(owned) {}

    /// The group's name.
    std::string_view name() const noexcept { return detail::text(rheo_group_name(handle())); }
    /// The stream's name.
    std::string_view stream() const noexcept { return detail::text(rheo_group_stream_name(handle())); }
    /// A handle of the instance.
    rheo::instance instance() const;

    /// See instance::fetch.
    lease_list fetch(const fetch_options &options = {}) const {
        lease_list leases;
        fetch_into(options, leases);
        return leases;
    }
    /// The same into a list that is filled again.
    void fetch_into(const fetch_options &options, lease_list &leases) const {
        detail::call(rheo_group_fetch, handle(), options.handle(), leases.to_fill());
    }
    /// See instance::producer.
    rheo::producer producer(const producer_options &options = {}) const {
        return rheo::producer(detail::make<rheo_producer>(rheo_group_producer, handle(), options.handle()));
    }
    /// See instance::consumer.
    template <class Handler>
    rheo::consumer consumer(Handler &&handler, const consumer_options &options = {}) const {
        return rheo::consumer(detail::start_consumer(std::forward<Handler>(handler), rheo_group_consumer,
                                                     this->handle(), options.handle()));
    }
    /// See instance::lag.
    rheo::lag lag(const partition_set &partitions = partition_set::all()) const {
        return detail::get_lag(rheo_group_lag, handle(), partitions.data(), partitions.size());
    }
    /// See instance::group_info.
    group_info info(const partition_set &partitions = partition_set::all()) const {
        return detail::get_group_info(rheo_group_get_info, handle(), partitions.data(), partitions.size());
    }
    /// See instance::dead_letters.
    std::vector<dead_letter> dead_letters(const dead_letter_options &options = {}) const {
        return detail::get_dead_letters(rheo_group_dead_letters, handle(), options.handle());
    }
    /// See instance::discard_dead_letters.
    std::uint64_t discard_dead_letters(const std::vector<std::string_view> &event_ids) const {
        const std::vector<rheo_bytes> ids = detail::to_bytes(event_ids);
        return detail::get_count(rheo_group_discard_dead_letters, handle(), ids.data(), ids.size());
    }
    /// See instance::discard_all_dead_letters.
    std::uint64_t discard_all_dead_letters() const {
        return detail::get_count(rheo_group_discard_all_dead_letters, handle());
    }
    /// See instance::replay.
    std::uint64_t replay(const replay_options &options) const {
        return detail::get_count(rheo_group_replay, handle(), options.handle());
    }
    /// See instance::reset_group.
    void reset(const reset_options &options) const { detail::call(rheo_group_reset, handle(), options.handle()); }
    /// See instance::update_group.
    void update(const update_options &options) const { detail::call(rheo_group_update, handle(), options.handle()); }
    /// See instance::delete_group.
    void delete_group() const { detail::call(rheo_group_delete, handle()); }

    /// For the functions of rheo.h.
    const rheo_group *handle() const noexcept { return handle_.get(); }

private:
    detail::owned<rheo_group, rheo_group_free> handle_;
};

/// One opened backend. clone() gives a further handle of the same instance; the last one that is destroyed closes it.
/// Any thread.
class instance : public detail::settling<instance, detail::instance_settles> {
public:
    /// Takes over an instance of rheo.h.
    explicit instance(rheo_instance *owned) noexcept : handle_(owned) {}

    /// Another handle of the same instance.
    instance clone() const { return instance(detail::make<rheo_instance>(rheo_instance_clone, handle())); }
    /// The name it was opened with, if any.
    std::optional<std::string_view> name() const noexcept {
        return detail::optional_text(rheo_instance_name(handle()));
    }
    /// Flushes and closes, whatever handles there are. Later calls of any of them throw closed, and waits end. Closing
    /// again does nothing.
    void close() const { detail::call(rheo_instance_close, handle()); }
    /// Whether it was closed.
    bool is_closed() const noexcept { return rheo_instance_is_closed(handle()); }
    /// Throws unless the store answers.
    void ping() const { detail::call(rheo_instance_ping, handle()); }
    /// Creates what the store needs. May be called again.
    void ensure_indexes() const { detail::call(rheo_instance_ensure_indexes, handle()); }
    /// What the backend guarantees and how.
    rheo::capabilities capabilities() const { return detail::get_capabilities(handle()); }
    /// The time by which this instance is judged.
    time_point now() const {
        std::int64_t micros = 0;
        detail::call(rheo_instance_now, handle(), &micros);
        return from_micros(micros);
    }
    /// Moves a manual clock, wakes every wait, and gives the new time.
    time_point advance_clock(std::chrono::milliseconds ms) const {
        std::int64_t micros = 0;
        detail::call(rheo_instance_advance_clock, handle(), ms.count(), &micros);
        return from_micros(micros);
    }
    /// A stream, its name resolved once.
    rheo::stream stream(std::string_view stream) const {
        return rheo::stream(detail::make<rheo_stream>(rheo_instance_stream, handle(), stream.data(), stream.size()));
    }
    /// A group, its names resolved once.
    rheo::group group(std::string_view stream, std::string_view group) const {
        return rheo::group(detail::make<rheo_group>(rheo_instance_group, handle(), stream.data(), stream.size(),
                                                    group.data(), group.size()));
    }

    /// Creates a stream.
    void create_stream(std::string_view stream, const stream_options &options = {}) const {
        detail::call(rheo_instance_create_stream, handle(), stream.data(), stream.size(), options.handle());
    }
    /// Deletes a stream with its events and groups; throws confirm_required unless confirm is true.
    void delete_stream(std::string_view stream, bool confirm) const {
        detail::call(rheo_instance_delete_stream, handle(), stream.data(), stream.size(), confirm);
    }
    /// What there is to know of a stream.
    rheo::stream_info stream_info(std::string_view stream) const {
        return detail::get_stream_info(rheo_instance_stream_info, handle(), stream.data(), stream.size());
    }
    /// The names of the streams, sorted by code point.
    std::vector<std::string> list_streams() const { return detail::get_names(rheo_instance_list_streams, handle()); }
    /// Creates a group.
    void create_group(std::string_view stream, std::string_view group, const group_options &options = {}) const {
        detail::call(rheo_instance_create_group, handle(), stream.data(), stream.size(), group.data(), group.size(),
                     options.handle());
    }
    /// Changes a group's limits.
    void update_group(std::string_view stream, std::string_view group, const update_options &options) const {
        detail::call(rheo_instance_update_group, handle(), stream.data(), stream.size(), group.data(), group.size(),
                     options.handle());
    }
    /// Deletes a group.
    void delete_group(std::string_view stream, std::string_view group) const {
        detail::call(rheo_instance_delete_group, handle(), stream.data(), stream.size(), group.data(), group.size());
    }
    /// The names of a stream's groups, sorted by code point.
    std::vector<std::string> list_groups(std::string_view stream) const {
        return detail::get_names(rheo_instance_list_groups, handle(), stream.data(), stream.size());
    }

    /// Appends an event and says where it lies. An id that the stream holds appends nothing and gives the event that
    /// stands, as deduplicated.
    position append(std::string_view stream, const payload &payload, const append_options &options = {}) const {
        rheo::position at{};
        detail::call(rheo_instance_append, handle(), stream.data(), stream.size(), payload.data, payload.size,
                     static_cast<rheo_encoding>(payload.encoding), options.handle(), &at, nullptr);
        return at;
    }
    /// The same, and gives the whole event.
    event append_event(std::string_view stream, const payload &payload, const append_options &options = {}) const {
        return event(detail::make<rheo_event>(rheo_instance_append, handle(), stream.data(), stream.size(),
                                              payload.data, payload.size, static_cast<rheo_encoding>(payload.encoding),
                                              options.handle(), nullptr));
    }
    /// Appends events, all or nothing, and gives the event of each, in order. What one of them leaves open comes from
    /// `shared`.
    event_list append_batch(std::string_view stream, const batch &batch, const append_options &shared = {}) const {
        return detail::fill<event_list>(rheo_instance_append_batch, handle(), stream.data(), stream.size(),
                                        batch.handle(), shared.handle());
    }
    /// Events of a partition after a sequence, ascending. Touches no group.
    event_list read(std::string_view stream, std::uint32_t partition = 0, std::uint64_t after = 0,
                    std::int64_t limit = 100) const {
        event_list events;
        read_into(stream, partition, after, limit, events);
        return events;
    }
    /// The same into a list that is filled again.
    void read_into(std::string_view stream, std::uint32_t partition, std::uint64_t after, std::int64_t limit,
                   event_list &events) const {
        detail::call(rheo_instance_read, handle(), stream.data(), stream.size(), partition, after, limit,
                     events.to_fill());
    }
    /// The event with this id, if the stream holds it.
    std::optional<event> get(std::string_view stream, std::string_view event_id) const {
        return detail::find<rheo::event, rheo_event>(rheo_instance_get_event, handle(), stream.data(), stream.size(),
                                                     event_id.data(), event_id.size());
    }
    /// The events that match.
    event_list query(std::string_view stream, const rheo::query &query = {}) const {
        return detail::fill<event_list>(rheo_instance_query, handle(), stream.data(), stream.size(), query.handle());
    }
    /// One page of the events that match, in (sequence, partition) order. The cursor is the next_cursor of the page
    /// before.
    event_list query_page(std::string_view stream, const rheo::query &query = {},
                          std::optional<std::string_view> cursor = {}) const {
        const std::string_view after = cursor.value_or(std::string_view());
        return detail::fill<event_list>(rheo_instance_query_page, handle(), stream.data(), stream.size(),
                                        query.handle(), after.data(), after.size());
    }
    /// All events that match, in (sequence, partition) order, read a page at a time as they are asked for.
    event_stream query_stream(std::string_view stream, const rheo::query &query = {}) const {
        return event_stream(detail::make<rheo_event_iterator>(rheo_instance_query_stream, handle(), stream.data(),
                                                              stream.size(), query.handle()));
    }
    /// Removes old events and gives how many.
    std::uint64_t trim(std::string_view stream, const trim_options &options) const {
        return detail::get_count(rheo_instance_trim, handle(), stream.data(), stream.size(), options.handle());
    }

    /// Claims what is claimable; an empty list when there is nothing, after the wait that the options ask for.
    lease_list fetch(std::string_view stream, std::string_view group, const fetch_options &options = {}) const {
        lease_list leases;
        fetch_into(stream, group, options, leases);
        return leases;
    }
    /// The same into a list that is filled again.
    void fetch_into(std::string_view stream, std::string_view group, const fetch_options &options,
                    lease_list &leases) const {
        detail::call(rheo_instance_fetch, handle(), stream.data(), stream.size(), group.data(), group.size(),
                     options.handle(), leases.to_fill());
    }

    /// Starts a producer: what turns demand into leases.
    rheo::producer producer(std::string_view stream, std::string_view group,
                            const producer_options &options = {}) const {
        return rheo::producer(detail::make<rheo_producer>(rheo_instance_producer, handle(), stream.data(),
                                                          stream.size(), group.data(), group.size(), options.handle()));
    }
    /// Starts a consumer: what calls a handler for each event, or for batches of them. See rheo::consumer.
    template <class Handler>
    rheo::consumer consumer(std::string_view stream, std::string_view group, Handler &&handler,
                            const consumer_options &options = {}) const {
        return rheo::consumer(detail::start_consumer(std::forward<Handler>(handler), rheo_instance_consumer,
                                                     this->handle(), stream.data(), stream.size(), group.data(),
                                                     group.size(), options.handle()));
    }

    /// Frontier, high watermark and lag.
    rheo::lag lag(std::string_view stream, std::string_view group,
                  const partition_set &partitions = partition_set::all()) const {
        return detail::get_lag(rheo_instance_lag, handle(), stream.data(), stream.size(), group.data(), group.size(),
                               partitions.data(), partitions.size());
    }
    /// What there is to know of a group, over these partitions.
    rheo::group_info group_info(std::string_view stream, std::string_view group,
                                const partition_set &partitions = partition_set::all()) const {
        return detail::get_group_info(rheo_instance_group_info, handle(), stream.data(), stream.size(), group.data(),
                                      group.size(), partitions.data(), partitions.size());
    }
    /// The dead letters of a group, ordered by (partition, sequence).
    std::vector<dead_letter> dead_letters(std::string_view stream, std::string_view group,
                                          const dead_letter_options &options = {}) const {
        return detail::get_dead_letters(rheo_instance_dead_letters, handle(), stream.data(), stream.size(),
                                        group.data(), group.size(), options.handle());
    }
    /// Forgets the dead letters of these events for good and gives how many.
    std::uint64_t discard_dead_letters(std::string_view stream, std::string_view group,
                                       const std::vector<std::string_view> &event_ids) const {
        const std::vector<rheo_bytes> ids = detail::to_bytes(event_ids);
        return detail::get_count(rheo_instance_discard_dead_letters, handle(), stream.data(), stream.size(),
                                 group.data(), group.size(), ids.data(), ids.size());
    }
    /// Forgets all dead letters of a group for good and gives how many.
    std::uint64_t discard_all_dead_letters(std::string_view stream, std::string_view group) const {
        return detail::get_count(rheo_instance_discard_all_dead_letters, handle(), stream.data(), stream.size(),
                                 group.data(), group.size());
    }
    /// Makes deliveries available again, their attempts starting over, and gives how many.
    std::uint64_t replay(std::string_view stream, std::string_view group, const replay_options &options) const {
        return detail::get_count(rheo_instance_replay, handle(), stream.data(), stream.size(), group.data(),
                                 group.size(), options.handle());
    }
    /// Clears a group's deliveries and dead letters and moves it to a new start.
    void reset_group(std::string_view stream, std::string_view group, const reset_options &options) const {
        detail::call(rheo_instance_reset_group, handle(), stream.data(), stream.size(), group.data(), group.size(),
                     options.handle());
    }

    /// For the functions of rheo.h.
    const rheo_instance *handle() const noexcept { return handle_.get(); }

private:
    detail::owned<rheo_instance, rheo_instance_free> handle_;
};

inline instance stream::instance() const {
    return rheo::instance(detail::make<rheo_instance>(rheo_instance_clone, rheo_stream_instance(handle())));
}

inline instance group::instance() const {
    return rheo::instance(detail::make<rheo_instance>(rheo_instance_clone, rheo_group_instance(handle())));
}

/// Opens an instance: `memory:` (other schemes come with other builds). Where the library that is loaded does not fit
/// this header, nothing can be asked of it: that is a std::logic_error.
inline instance open(std::string_view url = "memory:", const open_options &options = {}) {
    if (!RHEO_ABI_MATCHES()) {
        throw std::logic_error("rheo.hpp is of ABI " + std::to_string(RHEO_ABI_VERSION) + ", the librheo loaded of " +
                               std::to_string(rheo_abi_version()) + ": install the two together");
    }
    return instance(detail::make<rheo_instance>(rheo_instance_open, url.data(), url.size(), options.handle()));
}

/// A handle of the open instance of this name, if there is one.
inline std::optional<instance> get(std::string_view name) {
    return detail::find<instance, rheo_instance>(rheo_instance_get, name.data(), name.size());
}

/// The version of the library that is loaded, such as "0.1.0"; that of this header is RHEO_VERSION.
inline std::string_view version() noexcept {
    return rheo_version();
}

/// The version of the binary interface of the library that is loaded; that of this header is RHEO_ABI_VERSION.
/// open() compares the two.
inline std::uint32_t abi_version() noexcept {
    return rheo_abi_version();
}

/// Whether the library that is loaded was built with a feature, such as "redis".
inline bool has_feature(std::string_view name) noexcept {
    return rheo_has_feature(name.data(), name.size());
}

} // namespace rheo

#endif // RHEO_HPP
