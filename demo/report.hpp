// What the demo says on the terminal: tables, and whether the numbers are right. Nothing of Rheo in here.

#ifndef DEMO_REPORT_HPP
#define DEMO_REPORT_HPP

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

using stopwatch = std::chrono::steady_clock;
using counts = std::map<std::string, std::uint64_t>;

// Compares what was found with what must be.
class verdict {
public:
    void expect(const std::string &what, std::uint64_t found, std::uint64_t wanted) {
        if (found != wanted) {
            complain(what, std::to_string(found), std::to_string(wanted));
        }
    }

    void expect(const std::string &what, const counts &found, const counts &wanted) {
        if (found != wanted) {
            complain(what, text(found), text(wanted));
        }
    }

    // Says whether everything was right; gives the exit status.
    int pronounce() const {
        if (wrong_.empty()) {
            std::printf("\nEvery number is what it must be.\n");
            return EXIT_SUCCESS;
        }
        std::printf("\nThese numbers are wrong:\n%s", wrong_.c_str());
        return EXIT_FAILURE;
    }

private:
    void complain(const std::string &what, const std::string &found, const std::string &wanted) {
        wrong_ += "  " + what + ": " + found + " instead of " + wanted + "\n";
    }

    static std::string text(const counts &counts) {
        std::string text;
        for (const auto &[name, count] : counts) {
            text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + name;
        }
        return text.empty() ? "nothing" : text;
    }

    std::string wrong_;
};

// 1234567 as 1,234,567.
inline std::string number(std::uint64_t value) {
    std::string digits = std::to_string(value);
    for (std::size_t at = digits.size(); at > 3; at -= 3) {
        digits.insert(at - 3, 1, ',');
    }
    return digits;
}

inline std::string milliseconds(stopwatch::duration time) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.2f ms", std::chrono::duration<double, std::milli>(time).count());
    return text.data();
}

inline std::string per_second(std::uint64_t events, stopwatch::duration time) {
    return number(
        static_cast<std::uint64_t>(static_cast<double>(events) / std::chrono::duration<double>(time).count()));
}

inline void title(const char *text) {
    std::printf("\n%s\n\n", text);
}

// One line of a table: a label, and cells that stand under each other.
inline void row(const std::string &label, const std::vector<std::string> &cells) {
    std::printf("  %-32s", label.c_str());
    for (const std::string &cell : cells) {
        std::printf("%14s", cell.c_str());
    }
    std::printf("\n");
}

#endif
