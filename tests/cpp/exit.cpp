// An instance that outlives main, and the thread's own storage: it works until it is destroyed, and that is silent.

#include <rheo.hpp>

#include <cstdlib>
#include <string>

namespace {

rheo::instance db = rheo::open();

struct last_words {
    // Destroyed before `db`, which was made before; by then thread-local storage is gone or going.
    ~last_words() {
        try {
            db.create_stream("late", rheo::stream_options().partition_count(3));
            db.create_group("late", "readers");
            db.append("late", rheo::json("1"));
            if (db.fetch("late", "readers").size() != 1) {
                std::_Exit(EXIT_FAILURE);
            }
            db.delete_stream("late", true);
        } catch (const rheo::error &) {
            std::_Exit(EXIT_FAILURE);
        }
    }
} words;

struct thread_words {
    ~thread_words() {
        try {
            db.create_stream("later");
        } catch (const rheo::error &) {
            std::_Exit(EXIT_FAILURE);
        }
    }
};

} // namespace

int main() {
    static thread_local thread_words spoken;
    static_cast<void>(spoken);
    db.create_stream("s");
    db.append("s", rheo::json("1"));
    return EXIT_SUCCESS;
}
