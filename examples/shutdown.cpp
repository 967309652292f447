// Shutting down on SIGTERM: what runs is finished and settled, what has not begun is given back at once, the exit status
// is 0. Run with a journal; run again, it goes on with what is left, and does not wait for a lease to expire.
//
// prints: job 1 begins
// prints: job 1 done
// prints: stopped
// prints: job 2 begins
// prints: job 2 done
// prints: stopped
//
// ends by: SIGTERM

#include <atomic>
#include <chrono>
#include <csignal>
#include <iostream>
#include <rheo.hpp>
#include <thread>

using namespace std::chrono_literals;

int main(int argc, char **argv) try {
    if (argc != 2) {
        std::cerr << "usage: shutdown JOURNAL\n";
        return 2;
    }

    // First of all, so that every thread inherits it: the signal is for the thread that waits for it, and no handler of
    // it ever runs. Nothing of Rheo may be called in one.
    sigset_t terminate;
    sigemptyset(&terminate);
    sigaddset(&terminate, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &terminate, nullptr);

    const rheo::instance db = rheo::open("journal:" + std::string(argv[1]));
    if (db.list_streams().empty()) { // the first time
        db.create_stream("jobs");
        db.create_group("jobs", "workers");
        for (const char *job : {"1", "2", "3"}) {
            db.append("jobs", rheo::bytes(job));
        }
    }

    // Stands for work that takes its time: so much that SIGTERM comes in the middle of it.
    std::atomic<const rheo::consumer *> started = nullptr;
    const auto do_job = [&](rheo::lease_view job) {
        std::cout << "job " << job.payload() << " begins" << std::endl;
        while (started == nullptr || started.load()->is_running()) {
            std::this_thread::sleep_for(10ms);
        }
        std::cout << "job " << job.payload() << " done" << std::endl;
    };
    const rheo::consumer consumer = db.consumer("jobs", "workers", do_job);
    started = &consumer;

    int signal = 0;
    sigwait(&terminate, &signal);
    consumer.close(20s); // less than the patience of whoever sends SIGKILL afterwards
    db.close();
    std::cout << "stopped\n";
} catch (const std::exception &error) {
    std::cerr << error.what() << '\n';
    return 1;
}
