// What the programs here check with. They test what is C++'s own (lifetimes, conversions, exceptions) and that every
// wrapper calls the function that it is named after; what the operations do is for the scenarios to tell.

#ifndef RHEO_TESTS_CHECK_HPP
#define RHEO_TESTS_CHECK_HPP

#include <rheo.hpp>

#include <cstdio>
#include <cstdlib>

// Ends the program with a message unless the condition holds.
#define CHECK(...) check_that((__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)

// Ends the program with a message unless the expression throws a rheo::error of this status.
#define CHECK_THROWS(expected, ...)                                                                                    \
    check_throws(                                                                                                      \
        rheo::status::expected, [&] { (void)(__VA_ARGS__); }, #__VA_ARGS__, __FILE__, __LINE__)

inline void check_that(bool holds, const char *condition, const char *file, int line) {
    if (!holds) {
        std::fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
        std::exit(1);
    }
}

template <class Action>
void check_throws(rheo::status expected, Action action, const char *expression, const char *file, int line) {
    try {
        action();
    } catch (const rheo::error &error) {
        if (error.code() != expected) {
            std::fprintf(stderr, "%s:%d: %s threw %s\n", file, line, expression, error.what());
            std::exit(1);
        }
        return;
    }
    std::fprintf(stderr, "%s:%d: did not throw: %s\n", file, line, expression);
    std::exit(1);
}

#endif // RHEO_TESTS_CHECK_HPP
